/* whole_forward.cl and whole_backward.cl for channels first. */
#define WHOLE(pass) pass##_whole_nchw
#define LAST 0
