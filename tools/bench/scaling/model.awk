# awk -f model.awk scaling.columns
# The tables of doc/scaling.md from what tools/bench/scaling/scaling measured, in microseconds, and a model:
#
#   S(P, n)  a sum of n bytes over P ranks, as MPICH adds: up to 2 KB by recursive doubling,
#            L steps of n bytes, L = log2 P; larger ones halved and doubled, 2 L steps and
#            2 n (P - 1) / P bytes in all. A step costs alpha, a byte beta.
#   pass     S(P, header) + S(P, words) + what the host does for each channel, gamma
#
# More ranks than cores take turns: bytes and channels cost P / cores times as much, and each step
# waits sigma for every turn of the others.
#
# The model is held against first quartiles: what else a machine does only adds. Fitted and
# judged are up to two ranks a core; beyond that the scheduler decides.

BEGIN { header = 136 }

function log2(x) { return log(x) / log(2) }
function max(a, b) { return a > b ? a : b }
function steps(P, n) { return (n <= 2048 ? 1 : 2) * log2(P) }
function moved(P, n) { return n <= 2048 ? n * log2(P) : 2 * n * (P - 1) / P }
function turns(P) { return max(1, P / cores) }
function S(P, n) { return steps(P, n) * (alpha + sigma * (turns(P) - 1)) + moved(P, n) * beta * turns(P) }
function words(C) { return 16 + 64 * C }
function words_back(C) { return 16 + 72 * C }
function host(C, pass) { return fixed[pass] + gamma[pass] * C }

# --- reading ----------------------------------------------------------------------------

/^# cores/ { cores = $3 }
/^#/ { next }
{
    low[$1, $2, $3] = $5
    spread[$1, $2, $3] = sprintf("%.0f [%.0f %.0f]", $4, $5, $6)
    if (!seen["P", $1]++)
        P_of[++P_count] = $1
    if (!seen["C", $2]++)
        C_of[++C_count] = $2
}

# --- fitting: least squares of relative errors --------------------------------------------

function add_row(x1, x2, x3, y,    i, j, x) {
    x[1] = x1 / y; x[2] = x2 / y; x[3] = x3 / y
    for (i = 1; i <= 3; i++) {
        for (j = 1; j <= 3; j++)
            A[i, j] += x[i] * x[j]
        A[i, 4] += x[i]
    }
}

function solve(    i, j, k, factor) {
    for (i = 1; i <= 3; i++)
        for (k = 1; k <= 3; k++)
            if (k != i && A[i, i]) {
                factor = A[k, i] / A[i, i]
                for (j = 1; j <= 4; j++)
                    A[k, j] -= factor * A[i, j]
            }
    for (i = 1; i <= 3; i++)
        result[i] = A[i, i] ? A[i, 4] / A[i, i] : 0
}

function fit_sums(    p, c, P, n) {
    for (p = 1; p <= P_count; p++)
        for (c = 1; c <= C_count; c++) {
            P = P_of[p]
            n = words(C_of[c])
            if (P > 1 && turns(P) <= 2)
                add_row(steps(P, n), steps(P, n) * (turns(P) - 1), moved(P, n) * turns(P),
                        low[P, C_of[c], "sum"])
        }
    solve()
    alpha = result[1]
    sigma = result[2]
    beta = result[3]
}

# What the host does for other ranks: a transport that answers at once against none.
function fit_host(pass,    c, C, y, n, sx, sy, sxx, sxy) {
    for (c = 1; c <= C_count; c++) {
        C = C_of[c]
        y = low[1, C, "echo-" pass] - low[1, C, "alone-" pass]
        n++; sx += C; sy += y; sxx += C * C; sxy += C * y
    }
    gamma[pass] = (n * sxy - sx * sy) / (n * sxx - sx * sx)
    fixed[pass] = max(0, (sy - gamma[pass] * sx) / n)
}

# --- tables -------------------------------------------------------------------------------

function head(title,    p) {
    printf "\n%s\n\n| channels |", title
    for (p = 1; p <= P_count; p++)
        printf " %d ranks |", P_of[p]
    printf "\n|---|"
    for (p = 1; p <= P_count; p++)
        printf "---|"
    print ""
}

function table(title, series,    c, p) {
    head(title)
    for (c = 1; c <= C_count; c++) {
        printf "| %d |", C_of[c]
        for (p = 1; p <= P_count; p++)
            printf " %s |", spread[P_of[p], C_of[c], series]
        print ""
    }
}

function against_model(title, series,    c, p, P, C, m, measured, sum, n) {
    head(title)
    for (c = 1; c <= C_count; c++) {
        C = C_of[c]
        printf "| %d |", C
        for (p = 1; p <= P_count; p++) {
            P = P_of[p]
            if (P == 1) {
                printf " - |"
                continue
            }
            m = S(P, words(C))
            measured = low[P, C, "sum"]
            if (series != "sum") {
                m += S(P, header) + host(C, "forward") * turns(P)
                measured = low[P, C, "joined-forward"] - low[P, C, "alone-forward"]
            }
            if (turns(P) <= 2) {
                sum += log(measured / m) ^ 2
                n++
            }
            printf " %.0f (%.2f) |", m, measured / m
        }
        print ""
    }
    if (n)
        printf "\nRoot mean square of the quotients' logarithms: a factor of %.2f.\n", exp(sqrt(sum / n))
}

# --- ResNet-50 ------------------------------------------------------------------------------

function layers(list,    n, s, b, width, blocks) {
    split("3 4 6 3", blocks, " ")
    list[++n] = 64
    for (s = 1; s <= 4; s++) {
        width = 64 * 2 ^ (s - 1)
        for (b = 1; b <= blocks[s]; b++) {
            list[++n] = width
            list[++n] = width
            list[++n] = 4 * width
        }
        list[++n] = 4 * width
    }
    return n
}

function carry_on(name, a, b,    i, j, n, count, P, C, list, ranks, headers, latency, bytes, own) {
    n = layers(list)
    count = split("2 8 32 128 1250 4095 10000", ranks, " ")
    printf "\n%s: alpha %.3g us, beta %.3g us a KB; milliseconds of a step of ResNet-50\n\n", name, a, 1024 * b
    print "| ranks | headers | latency | bytes | host | in all, headers hidden |"
    print "|---|---|---|---|---|---|"
    for (i = 1; i <= count; i++) {
        P = ranks[i]
        headers = 2 * n * (steps(P, header) * a + moved(P, header) * b) / 1000
        latency = bytes = own = 0
        for (j = 1; j <= n; j++) {
            C = list[j]
            latency += (steps(P, words(C)) + steps(P, words_back(C))) * a / 1000
            bytes += (moved(P, words(C)) + moved(P, words_back(C))) * b / 1000
            own += (host(C, "forward") + host(C, "backward")) / 1000
        }
        printf "| %d | %.2f | %.2f | %.2f | %.2f | %.2f |\n", P, headers, latency, bytes, own,
            latency + bytes + own
    }
}

END {
    fit_sums()
    fit_host("forward")
    fit_host("backward")
    table("Cost of combining a forward pass", "combine-forward")
    table("Cost of combining a backward pass", "combine-backward")
    printf "\nalpha %.2f us a step, sigma %.2f us a step and turn, beta %.3f us a KB; the host: " \
        "%.1f us and %.1f ns a channel forward, %.1f us and %.1f ns backward\n", alpha, sigma,
        1024 * beta, fixed["forward"], 1000 * gamma["forward"], fixed["backward"],
        1000 * gamma["backward"]
    against_model("A sum: the model (measured over it)", "sum")
    against_model("Combining a forward pass: the model (measured over it)", "joined")
    carry_on("InfiniBand or RoCE, 100 Gbit/s", 3, 1 / 12000)
    carry_on("Ethernet, 25 Gbit/s, TCP", 30, 1 / 3000)
}
