/* forward_whole.cl and backward_whole.cl for channels last. */
#define WHOLE(pass) pass##_whole_nhwc
#define LAST 1
