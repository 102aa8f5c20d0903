/* whole_forward.cl and whole_backward.cl for channels last. */
#define WHOLE(pass) pass##_whole_nhwc
#define LAST 1
