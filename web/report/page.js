// Draws the curves of the report page from the data in it. Words, tables and ratio plots are HTML
// and need none of this.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  // As in the style sheet: arms differ in colour and in kind of line.
  const dashes = [[], [8, 5], [2, 4], [], [10, 3, 2, 3], [4, 4]];
  const plots = [];

  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const significant = (value) => {
    if (value === 0) return "0";
    const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
    return value.toFixed(Math.min(digits, 6));
  };
  const time = (ms) => {
    if (ms >= 1000) return `${significant(ms / 1000)} s`;
    if (ms >= 1) return `${significant(ms)} ms`;
    return `${significant(ms * 1000)} µs`;
  };

  const font = (size) => `${size}px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif`;

  function axis(extra) {
    return {
      stroke: colour("--soft"),
      font: font(12),
      labelFont: font(12),
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { stroke: colour("--line"), width: 1, size: 5 },
      labelSize: 18,
      labelGap: 0,
      gap: 4,
      // Logarithmic axes would otherwise drop all labels but the decades.
      filter: (plot, ticks) => ticks,
      ...extra,
    };
  }

  // What is alone has no baseline, and is drawn as what counts.
  const alone = data.arms.length === 1;

  function line(arm, extra) {
    const style = alone ? 3 : arm % dashes.length;
    return {
      label: data.arms[arm],
      stroke: colour(`--arm-${style}`),
      // The baseline is broad and lies below: it is seen even where another runs along it.
      width: arm === 0 && !alone ? 5 : 2,
      dash: dashes[style],
      ...extra,
    };
  }

  // What the cursor points at, in words below the plot.
  function readout(id, tell) {
    const place = document.getElementById(`${id}-readout`);
    return (plot) => {
      const at = plot.cursor.idx;
      place.textContent = at == null ? "" : tell(plot, at);
    };
  }

  const cssSize = (pixels) => pixels / (window.devicePixelRatio || 1);

  // Ticks of a logarithmic axis: as many round values as there is room for.
  function logTicks(least, greatest, room) {
    const decades = Math.log10(greatest / least);
    const choices = [[1, 2, 3, 4, 5, 6, 8], [1, 2, 5], [1, 3]];
    const mantissas = choices.find((choice) => decades * choice.length <= room) ?? [1];
    const every = Math.max(1, Math.ceil(decades / room));
    const ticks = [];
    const first = Math.floor(Math.log10(least));
    const last = Math.ceil(Math.log10(greatest));
    for (let decade = first; decade <= last; decade += 1) {
      if (mantissas.length === 1 && (decade - first) % every !== 0) continue;
      for (const mantissa of mantissas) {
        const value = mantissa * 10 ** decade;
        if (value >= least && value <= greatest) ticks.push(Number(value.toPrecision(1)));
      }
    }
    return ticks;
  }

  const plainTime = (ms) => {
    if (ms >= 1000) return `${ms / 1000} s`;
    if (ms >= 1) return `${ms} ms`;
    return `${Number((ms * 1000).toPrecision(1))} µs`;
  };

  // Places as far apart as they look on a logarithmic axis.
  const logPlaces = ([least, greatest], count) =>
    Array.from({ length: count }, (_, place) => least * (greatest / least) ** (place / (count - 1)));

  // Percent of the requests that are done by each place, from thousandths that each adds.
  function reached(steps) {
    let sum = 0;
    return steps.map((step) => (sum += step) / 10);
  }

  function latency(it) {
    const arms = it.steps
      .map((steps, arm) => ({ y: steps && reached(steps), arm }))
      .filter(({ y }) => y);
    const x = logPlaces(it.ends_ms, arms[0].y.length);
    const tell = (plot, at) => {
      const shares = arms.map(({ y, arm }) => `${data.arms[arm]} ${y[at].toFixed(1)} %`);
      return `within ${time(x[at])}: ${shares.join(", ")}`;
    };
    return {
      id: it.id,
      data: [x, ...arms.map(({ y }) => y)],
      options: {
        scales: {
          x: { time: false, distr: 3, range: [x[0], x[x.length - 1]] },
          y: { range: [0, 100] },
        },
        axes: [
          axis({
            size: 30,
            splits: (plot, which, lo, hi) => logTicks(lo, hi, cssSize(plot.bbox.width) / 70),
            values: (plot, ticks) => ticks.map(plainTime),
            label: "latency (logarithmic)",
          }),
          axis({ label: "requests done (%)", size: 42, incrs: [25] }),
        ],
        series: [{}, ...arms.map(({ arm }) => line(arm, { points: { show: false } }))],
        hooks: { setCursor: [readout(it.id, tell)] },
      },
    };
  }

  // Bars from the lowest to the highest block, moved apart so that none hides another.
  function drawBars(plot) {
    const { ctx } = plot;
    const ratio = window.devicePixelRatio || 1;
    const { lines, x } = data.depth;
    ctx.save();
    ctx.lineWidth = 1.5 * ratio;
    lines.forEach((it, place) => {
      const shift = (place - (lines.length - 1) / 2) * 4 * ratio;
      ctx.strokeStyle = colour(`--arm-${it.arm % dashes.length}`);
      x.forEach((depth, at) => {
        if (it.y[at] == null) return;
        const left = plot.valToPos(depth, "x", true) + shift;
        ctx.beginPath();
        ctx.moveTo(left, plot.valToPos(it.least[at], "y", true));
        ctx.lineTo(left, plot.valToPos(it.greatest[at], "y", true));
        ctx.stroke();
      });
    });
    ctx.restore();
  }

  function depth() {
    const { lines, x } = data.depth;
    const tell = (plot, at) => {
      const told = lines
        .filter((it) => it.y[at] != null)
        .map((it) => `${data.arms[it.arm]} ${significant(it.y[at])}`);
      return `depth ${x[at]}: ${told.join(", ")} IOPS`;
    };
    const greatest = Math.max(...lines.flatMap((it) => it.greatest.filter((v) => v != null)));
    return {
      id: "depth",
      data: [x, ...lines.map((it) => it.y)],
      options: {
        scales: {
          x: { time: false, distr: 3, log: 2, range: [x[0] / 1.15, x[x.length - 1] * 1.15] },
          y: { range: [0, greatest * 1.08] },
        },
        axes: [
          axis({
            size: 30,
            splits: () => x,
            values: (plot, ticks) => ticks.map(String),
            label: "requests outstanding (depth)",
          }),
          axis({
            label: "IOPS",
            size: 52,
            values: (plot, ticks) => ticks.map((tick) => (tick >= 10000 ? `${tick / 1000}k` : String(tick))),
          }),
        ],
        series: [
          {},
          ...lines.map((it) =>
            line(it.arm, {
              spanGaps: true,
              points: {
                show: true,
                size: 7,
                width: 2,
                fill: colour("--paper"),
              },
            }),
          ),
        ],
        hooks: { setCursor: [readout("depth", tell)], draw: [drawBars] },
      },
    };
  }

  // Latencies of a run over time: for each interval the filled buckets of a histogram.
  const widthOf = (low) => Math.max(8, 2 ** Math.floor(Math.log2(Math.max(low, 1))) / 16);

  // As the program itself takes a quantile: the middle of the bucket that holds the rank.
  function quantile(counts, lows, q) {
    const n = counts.reduce((sum, count) => sum + count, 0);
    if (n === 0) return null;
    const rank = Math.max(1, Math.ceil(n * q - 1e-9));
    let passed = 0;
    const place = counts.findIndex((count) => (passed += count) >= rank);
    return (lows[place] + Math.floor((widthOf(lows[place]) - 1) / 2)) / 1e6;
  }

  function counted(it, from, to) {
    const counts = new Array(it.lows_ns.length).fill(0);
    for (const cell of it.cells.slice(from, to)) {
      for (let at = 0; at < cell.length; at += 2) counts[cell[at]] += cell[at + 1];
    }
    return counts;
  }

  const total = (counts) => counts.reduce((sum, count) => sum + count, 0);

  // What is seen of a run, in words: all of it, or what was zoomed into.
  function range(it, from, to) {
    const counts = counted(it, from, to);
    const n = total(counts);
    const [start, end] = [from * it.step_s, to * it.step_s];
    const told = [`${start} s to ${end} s: ${n} requests`, `${significant(n / (end - start))} IOPS`];
    for (const [name, q] of [["p50", 0.5], ["p99", 0.99]]) {
      const ms = quantile(counts, it.lows_ns, q);
      if (ms != null) told.push(`${name} ${time(ms)}`);
    }
    return told.join(", ");
  }

  function drawHeat(it) {
    const most = Math.max(1, ...it.cells.flatMap((cell) => cell.filter((_, at) => at % 2 === 1)));
    return (plot) => {
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.fillStyle = colour("--arm-3");
      const first = Math.max(0, Math.floor(plot.scales.x.min / it.step_s) - 1);
      const last = Math.min(it.cells.length, Math.ceil(plot.scales.x.max / it.step_s) + 1);
      for (let at = first; at < last; at += 1) {
        const left = plot.valToPos(at * it.step_s, "x", true);
        const width = Math.max(1, plot.valToPos((at + 1) * it.step_s, "x", true) - left);
        const cell = it.cells[at];
        for (let place = 0; place < cell.length; place += 2) {
          const low = it.lows_ns[cell[place]];
          const top = plot.valToPos((low + widthOf(low)) / 1e6, "y", true);
          const bottom = plot.valToPos(Math.max(low, 1) / 1e6, "y", true);
          ctx.globalAlpha = 0.12 + 0.88 * (Math.log1p(cell[place + 1]) / Math.log1p(most));
          ctx.fillRect(left, top, width, Math.max(1, bottom - top));
        }
      }
      ctx.restore();
    };
  }

  // The pictures of one run are zoomed together.
  function zoomed(it) {
    return (plot, scale) => {
      if (scale !== "x") return;
      const { min, max } = plot.scales.x;
      const from = Math.max(0, Math.round(min / it.step_s));
      const to = Math.min(it.cells.length, Math.max(from + 1, Math.round(max / it.step_s)));
      document.getElementById(`${it.id}-range`).textContent = range(it, from, to);
      for (const other of plots.filter(({ group }) => group === it.id)) {
        const { x } = other.plot.scales;
        if (other.plot !== plot && (x.min !== min || x.max !== max)) {
          other.plot.setScale("x", { min, max });
        }
      }
    };
  }

  const countsOf = (it) => it.cells.map((_, at) => counted(it, at, at + 1));
  const ratesOf = (it) => countsOf(it).map((counts) => total(counts) / it.step_s);
  // Arms that are compared have the same scales.
  function scalesOf(it) {
    const all = data.same_scale ? data.time : [it];
    return {
      rate: Math.max(1, ...all.flatMap(ratesOf)),
      least: Math.max(1, Math.min(...all.map((one) => one.lows_ns[0] ?? 1))),
      greatest: Math.max(...all.map((one) => one.lows_ns[one.lows_ns.length - 1] ?? 1)),
    };
  }

  function overTime(it) {
    const ends = it.cells.map((_, at) => (at + 0.5) * it.step_s);
    const each = countsOf(it);
    const rates = ratesOf(it);
    const of = (q) => each.map((counts) => quantile(counts, it.lows_ns, q));
    const [p50, p99] = [of(0.5), of(0.99)];
    const tell = (plot, at) => {
      const waits = [["p50", p50], ["p99", p99]].filter(([, values]) => values[at] != null);
      const told = waits.map(([name, values]) => `, ${name} ${time(values[at])}`).join("");
      return `second ${at * it.step_s}: ${significant(rates[at])} IOPS${told}`;
    };
    const seconds = axis({ size: 30, label: "seconds" });
    const plain = { points: { show: it.cells.length < 3 }, spanGaps: false };
    const x = { time: false, range: (plot, min, max) => [min ?? 0, max ?? 1] };
    const whole = [0, it.cells.length * it.step_s];
    const { rate, least, greatest } = scalesOf(it);
    const shared = { group: it.id, whole, readout: it.id };
    const hooks = { setCursor: [readout(it.id, tell)], setScale: [zoomed(it)] };
    return [
      {
        ...shared,
        id: `${it.id}-rate`,
        data: [ends, rates],
        options: {
          scales: { x, y: { range: [0, rate * 1.08] } },
          axes: [seconds, axis({ label: "IOPS", size: 58 })],
          series: [{}, { ...line(it.arm), dash: [], width: 1.5, ...plain }],
          hooks,
        },
      },
      {
        ...shared,
        id: `${it.id}-heat`,
        data: [ends, p50, p99],
        options: {
          scales: { x, y: { distr: 3, range: [least / 1e6, (greatest + widthOf(greatest)) / 1e6] } },
          axes: [
            seconds,
            axis({
              label: "latency",
              size: 58,
              splits: (plot, which, lo, hi) => logTicks(lo, hi, cssSize(plot.bbox.height) / 22),
              values: (plot, ticks) => ticks.map(plainTime),
            }),
          ],
          series: [
            {},
            { stroke: colour("--ink"), width: 1.5, ...plain },
            { stroke: colour("--arm-5"), width: 1.5, dash: [4, 3], ...plain },
          ],
          hooks: { ...hooks, drawClear: [drawHeat(it)] },
        },
      },
    ];
  }

  function draw(it) {
    const place = document.getElementById(it.id);
    if (!place) return;
    const zooms = it.group !== undefined;
    const options = {
      ...it.options,
      width: place.clientWidth,
      // On paper a place is as high as what it holds, which is nothing yet.
      height: Math.max(place.clientHeight, 200),
      legend: { show: false },
      pxAlign: 0,
      cursor: { y: false, drag: { x: zooms, y: false }, points: { size: 7 } },
      padding: [8, 14, 0, 0],
    };
    const { group, whole } = it;
    const plot = new uPlot(options, it.data, place);
    plots.push({ plot, place, places: it.data[0].length, group, whole });
    if (zooms) {
      // uPlot's own way back is to the data, which end half an interval before the run does.
      const all = () => plot.setScale("x", { min: whole[0], max: whole[1] });
      plot.over.addEventListener("dblclick", (event) => {
        event.stopImmediatePropagation();
        all();
      }, true);
      all();
    }
  }

  function drawAll() {
    for (const { plot } of plots.splice(0)) plot.destroy();
    data.latency.map(latency).forEach(draw);
    if (data.depth.lines.length > 0) draw(depth());
    data.time.flatMap(overTime).forEach(draw);
  }

  // + halves what is seen of a plot over time, around the cursor; - doubles it, 0 shows all.
  function zoom({ plot, whole }, key) {
    if (key === "0") return plot.setScale("x", { min: whole[0], max: whole[1] });
    const { min, max } = plot.scales.x;
    const at = plot.cursor.idx == null ? (min + max) / 2 : plot.data[0][plot.cursor.idx];
    const half = (key === "-" ? max - min : (max - min) / 4);
    return plot.setScale("x", {
      min: Math.max(whole[0], at - half),
      max: Math.min(whole[1], at + half),
    });
  }

  // Arrow keys move the cursor of the plot that has the focus.
  document.addEventListener("keydown", (event) => {
    const focused = plots.find(({ place }) => place === document.activeElement);
    if (focused?.whole && ["+", "=", "-", "0"].includes(event.key)) {
      event.preventDefault();
      zoom(focused, event.key);
      return;
    }
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    const it = plots.find(({ place }) => place === document.activeElement);
    if (!it || step === undefined) return;
    event.preventDefault();
    const { plot, places } = it;
    const jump = Number.isFinite(step) ? step * Math.max(1, Math.round(places / 60)) : step;
    const from = plot.cursor.idx ?? (step > 0 ? -1 : places);
    const at = Math.min(places - 1, Math.max(0, from + jump));
    plot.setCursor({ left: plot.valToPos(plot.data[0][at], "x"), top: 0 });
  });

  let pending = 0;
  window.addEventListener("resize", () => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(() => {
      for (const { plot, place } of plots) {
        plot.setSize({ width: place.clientWidth, height: place.clientHeight });
      }
    });
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  // Paper is light, whatever the screen.
  window.addEventListener("beforeprint", () => {
    root.dataset.print = "";
    drawAll();
  });
  window.addEventListener("afterprint", () => {
    delete root.dataset.print;
    drawAll();
  });
  drawAll();

  // Tables are copied as Markdown.
  function markdown(table) {
    const rows = [...table.querySelectorAll("tr")].map((row) =>
      [...row.cells].map((cell) => cell.innerText.trim().replace(/\s+/g, " ").replaceAll("|", "\\|")),
    );
    const lines = rows.map((cells) => `| ${cells.join(" | ")} |`);
    lines.splice(1, 0, `|${" --- |".repeat(rows[0].length)}`);
    return `${lines.join("\n")}\n`;
  }

  for (const table of document.querySelectorAll("table.numbers, table.settings")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy as Markdown";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(markdown(table));
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy as Markdown"), 1500);
    });
    table.closest(".scroll")?.after(button);
  }
})();
