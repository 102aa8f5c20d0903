# awk -f scaling_model.awk ranks.columns wire.columns
# The tables of doc/scaling.md from what tools/bench/scaling/run.sh measured, in microseconds, and a model:
#
#   S(P, n)  a sum of n bytes over P ranks, as MPICH adds: up to 2 KB by recursive doubling,
#            L steps of n bytes, L = log2 P; larger ones halved and doubled, 2 L steps and
#            2 n (P - 1) / P bytes in all. A step costs alpha, a byte beta.
#   pass     S(P, header) + S(P, words) + what the host does for each channel, gamma
#
# More ranks than cores take turns: bytes and channels cost P / cores times as much, and each step
# waits sigma for every turn of the others. Over the wire alpha and beta are what the wire was
# given: nothing is fitted there.
#
# The model is held against first quartiles: what else a machine does only adds. Fitted and
# judged are up to two ranks a core; beyond that the scheduler decides.

function log2(x) { return log(x) / log(2) }
function max(a, b) { return a > b ? a : b }
function steps(P, n) { return (n <= 2048 ? 1 : 2) * log2(P) }
function moved(P, n) { return n <= 2048 ? n * log2(P) : 2 * n * (P - 1) / P }
function turns(P) { return max(1, P / cores) }
function S(P, n) { return steps(P, n) * (alpha + sigma * (turns(P) - 1)) + moved(P, n) * beta * turns(P) }
function on_wire(P, n) { return steps(P, n) * latency + moved(P, n) * 8 / mbits * 1514 / 1448 }
function words(C) { return 8 + 64 * C }
function host(C, pass) { return fixed[pass] + gamma[pass] * C }

# --- reading ----------------------------------------------------------------------------

/^# cores/ { cores = $3 }
/^# latency/ { latency = $3; mbits = $5 }
/^#/ { next }
{
    file = FILENAME ~ /wire/ ? "wire" : "ranks"
    low[file, $1, $2, $3] = $5
    spread[file, $1, $2, $3] = sprintf("%.0f [%.0f %.0f]", $4, $5, $6)
    if (!seen[file, "P", $1]++)
        P_of[file, ++P_count[file]] = $1
    if (!seen[file, "C", $2]++)
        C_of[file, ++C_count[file]] = $2
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
    for (p = 1; p <= P_count["ranks"]; p++)
        for (c = 1; c <= C_count["ranks"]; c++) {
            P = P_of["ranks", p]
            n = words(C_of["ranks", c])
            if (P > 1 && turns(P) <= 2)
                add_row(steps(P, n), steps(P, n) * (turns(P) - 1), moved(P, n) * turns(P),
                        low["ranks", P, C_of["ranks", c], "sum"])
        }
    solve()
    alpha = result[1]
    sigma = result[2]
    beta = result[3]
}

# What the host does for other ranks: a transport that answers at once against none.
function fit_host(pass,    c, C, y, n, sx, sy, sxx, sxy) {
    for (c = 1; c <= C_count["ranks"]; c++) {
        C = C_of["ranks", c]
        y = low["ranks", 1, C, "echo-" pass] - low["ranks", 1, C, "alone-" pass]
        n++; sx += C; sy += y; sxx += C * C; sxy += C * y
    }
    gamma[pass] = (n * sxy - sx * sy) / (n * sxx - sx * sx)
    fixed[pass] = max(0, (sy - gamma[pass] * sx) / n)
}

# --- tables -------------------------------------------------------------------------------

function head(first, file, word,    p) {
    printf "\n| %s |", first
    for (p = 1; p <= P_count[file]; p++)
        printf " %d %s |", P_of[file, p], word
    printf "\n|---|"
    for (p = 1; p <= P_count[file]; p++)
        printf "---|"
    print ""
}

function table(title, file, word, series,    c, p) {
    printf "\n%s\n", title
    head("channels", file, word)
    for (c = 1; c <= C_count[file]; c++) {
        printf "| %d |", C_of[file, c]
        for (p = 1; p <= P_count[file]; p++)
            printf " %s |", spread[file, P_of[file, p], C_of[file, c], series]
        print ""
    }
}

function measured(file, P, C, series) {
    if (series == "combine-forward")
        return low[file, P, C, "joined-forward"] - low[file, P, C, "alone-forward"]
    return low[file, P, C, series]
}

function against_model(title, file, word, series,    c, p, P, C, m, ratio, worst, sum, n) {
    printf "\n%s\n", title
    head("channels", file, word)
    for (c = 1; c <= C_count[file]; c++) {
        C = C_of[file, c]
        printf "| %d |", C
        for (p = 1; p <= P_count[file]; p++) {
            P = P_of[file, p]
            if (file == "wire")
                m = on_wire(P, 192) + on_wire(P, words(C)) + low[file, P, C, "echo-forward"]
            else if (P == 1)
                m = 0
            else if (series == "sum")
                m = S(P, words(C))
            else
                m = S(P, 192) + S(P, words(C)) + host(C, "forward") * turns(P)
            if (m == 0) {
                printf " - |"
                continue
            }
            ratio = measured(file, P, C, series) / m
            if (file == "wire" || turns(P) <= 2) {
                sum += log(ratio) * log(ratio)
                n++
            }
            printf " %.0f (%.2f) |", m, ratio
        }
        print ""
    }
    printf "\nRoot mean square of the quotients' logarithms: a factor of %.2f.\n", exp(sqrt(sum / n))
}

# --- ResNet-50 ------------------------------------------------------------------------------

function layers(list,    n, s, b, width, blocks, repeats) {
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

function step_cost(P, a, b, what,    n, i, list, total) {
    n = layers(list)
    for (i = 1; i <= n; i++) {
        if (what == "headers")
            total += 2 * (steps(P, 192) * a + moved(P, 192) * b)
        else if (what == "latency")
            total += (steps(P, words(list[i])) + steps(P, 8 + 72 * list[i])) * a
        else if (what == "bytes")
            total += (moved(P, words(list[i])) + moved(P, 8 + 72 * list[i])) * b
        else
            total += host(list[i], "forward") + host(list[i], "backward")
    }
    return total / 1000
}

function carry_on(name, a, b,    i, n, P, list) {
    n = split("2 8 32 128 1250 4095 10000", list, " ")
    printf "\n%s: alpha %.3g us, beta %.3g us a KB\n\n", name, a, 1024 * b
    print "| ranks | headers | latency | bytes | host | in all, headers hidden |"
    print "|---|---|---|---|---|---|"
    for (i = 1; i <= n; i++) {
        P = list[i]
        printf "| %d | %.2f | %.2f | %.2f | %.2f | %.2f |\n", P, step_cost(P, a, b, "headers"),
            step_cost(P, a, b, "latency"), step_cost(P, a, b, "bytes"), step_cost(P, a, b, "host"),
            step_cost(P, a, b, "latency") + step_cost(P, a, b, "bytes") + step_cost(P, a, b, "host")
    }
}

function resnet(    n, i, list, channels) {
    n = layers(list)
    for (i = 1; i <= n; i++)
        channels += list[i]
    printf "\nResNet-50: %d layers, %d channels; a step sends %d reductions, %d bytes: headers %d, " \
        "forward %d, backward %d.\n", n, channels, 4 * n, 2 * 192 * n + 16 * n + 136 * channels,
        2 * 192 * n, 8 * n + 64 * channels, 8 * n + 72 * channels
    print "Milliseconds a step, forward and backward:"
    carry_on("InfiniBand or RoCE, 100 Gbit/s", 3, 1 / 12000)
    carry_on("Ethernet, 25 Gbit/s, TCP", 30, 1 / 3000)
}

END {
    fit_sums()
    fit_host("forward")
    fit_host("backward")
    table("Cost of combining a forward pass", "ranks", "ranks", "combine-forward")
    table("Cost of combining a backward pass", "ranks", "ranks", "combine-backward")
    printf "\nalpha %.2f us a step, sigma %.2f us a step and turn, beta %.3f us a KB; the host: " \
        "%.1f us and %.1f ns a channel forward, %.1f us and %.1f ns backward\n", alpha, sigma,
        1024 * beta, fixed["forward"], 1000 * gamma["forward"], fixed["backward"],
        1000 * gamma["backward"]
    against_model("A sum: the model (measured over it)", "ranks", "ranks", "sum")
    against_model("Combining a forward pass: the model (measured over it)", "ranks", "ranks",
                  "combine-forward")
    if (P_count["wire"] > 0) {
        table("A forward pass over the wire", "wire", "hosts", "joined-forward")
        against_model("The same: the model, nothing fitted (measured over it)", "wire", "hosts",
                      "joined-forward")
        table("Not hidden of it, with progress calls", "wire", "hosts", "hidden-forward")
        table("Not hidden of it, without", "wire", "hosts", "unaided-forward")
    }
    resnet()
}
