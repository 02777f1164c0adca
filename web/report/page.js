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

  function line(arm, extra) {
    const style = arm % dashes.length;
    return {
      label: data.arms[arm],
      stroke: colour(`--arm-${style}`),
      // The baseline is broad and lies below: it is seen even where another runs along it.
      width: arm === 0 ? 5 : 2,
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

  // Ticks of a logarithmic time axis: 1, 2 and 5 of each decade, as many as there is room for.
  function timeTicks(plot, which, least, greatest) {
    const room = plot.bbox.width / (window.devicePixelRatio || 1) / 70;
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

  function latency(it) {
    const arms = it.y.map((y, arm) => ({ y, arm })).filter(({ y }) => y);
    const tell = (plot, at) => {
      const shares = arms.map(({ y, arm }) => `${data.arms[arm]} ${y[at].toFixed(1)} %`);
      return `within ${time(it.x[at])}: ${shares.join(", ")}`;
    };
    return {
      id: it.id,
      data: [it.x, ...arms.map(({ y }) => y)],
      options: {
        scales: {
          x: { time: false, distr: 3, range: [it.x[0], it.x[it.x.length - 1]] },
          y: { range: [0, 100] },
        },
        axes: [
          axis({
            size: 30,
            splits: timeTicks,
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

  function draw(it) {
    const place = document.getElementById(it.id);
    if (!place) return;
    const options = {
      ...it.options,
      width: place.clientWidth,
      height: place.clientHeight,
      legend: { show: false },
      pxAlign: 0,
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      padding: [8, 14, 0, 0],
    };
    plots.push({ plot: new uPlot(options, it.data, place), place, places: it.data[0].length });
  }

  function drawAll() {
    for (const { plot } of plots.splice(0)) plot.destroy();
    data.latency.map(latency).forEach(draw);
    if (data.depth.lines.length > 0) draw(depth());
  }

  // Arrow keys move the cursor of the plot that has the focus.
  document.addEventListener("keydown", (event) => {
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
})();
