/* forward_whole.cl and backward_whole.cl for channels first. */
#define WHOLE(pass) pass##_whole_nchw
#define LAST 0
