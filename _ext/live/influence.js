/* One step of training on one image, in the model of chapter 15: whose loss falls, and whose rises? */
"use strict";
{
const {make, set, fixed, images, pixels} = live;
const INK = images("01agg60007e9cc000115f500003ge300001beg6000000cb00078dg5000fgc500008ggd0000ab9g200004gc00002gf100002fb0000004g30003c2e400009gg500003dd10000afg7000053fa000000gf1002704g80"
  + "05d00e9000eb9g80003cd800009ggg7003gb441006g1000009g94000006ag80000208e0000d78e0000agg40001dggc100cf6cg300daag900005gf4000002ae1000001g7000315g9001eggb100019f50000eb5b00"
  + "04f14e000061d9000000ad10000008a000c944f0001agfb10038bde002dgddd001g0000003gba10003geea0000839b00007feb00002cd200002ff40000bae9000010b9000003f400001gge600008d61000097000"
  + "001f200004dggc300374dg600008f500000c80000007c0000004c000017cb00003fc200000bfga0008g8fg00056ag800004gb100002f90000009g2000008g50000dgf000003f900000e8b50003g31e2005c00c40"
  + "02c0068002e00c5000c85f00001de500009gga0000999f0000006e000002f700001eg400005gg8000006g40000bgc00002gggc000195cg200006fe20001gg100000cg1000006g600000cg50001ggd100008eggf1"
  + "00665cc10002bc30005e9000009g9000001bg7000027g700009d5000017dgd0007ggge00017ga10001gf0000008fe3000001ef300015dg70008fa600006bgd5002ggggc000005g40000af500009g300000dgd100"
  + "0005ge00005eb60004eggf200cb24g500201bc00000fg3000004fa0000001ea001703e8004fggb00004dggga00bfcdg500000cb000105f2000edff6000fgf920001g7000006e200002bee90003a7ag300004dc00"
  + "000df200000f90000009f000001d900001fd1000002ce80000ddfc0005f2a60002ede100000bfd10001f3e70006d1g40001cgb00006egf1009gc9g300cgbed0007fge0000028g5000006g400002dc000009g1000"
  + "0008ee200006afb000000ea0028bcg8008gggg700000bf100009g700000cd10000007f100000bg000000ge00000agf0000cggb0005g6fc000010cg0000004f40005cga0008f5cd000003g4000005g3000002f800"
  + "00002e7000000db0005ggb30");
const WEIGHTS = "i0hah1hxf1h6dzhvhzi3hnm5gpnjh2huhxltksfdccn4hohyhyldiggba3iap8hzi0mfn0e99shhk0i0hzimoket7qjfj4hzhwehp3njjfjifjhqi0h4inkec9gmgthcjri0heg7li9dqyfehlhtdq66fojxj6edhjikk9i8"
  + "xdu1gvgthxi6hlh5o8ibhqevi0i0h9k3glh0hudvi0hzaab5mbo6ae7zhui0ftgokwmujlgpjoi0hndaeqjqmxlwmyeoi0i5ltk6gie6guhwhuk8gxd3lhdbfbhyhoflghcujjf8irhzi0gq9j4bh7izk9i0i0n9cgisk7di"
  + "e8i0hzpgniqkfqerh4i7hykeilqwqtkqiyipi0iamqnblgpjo5ijfri0i3jilbngjgn0hqhsi4m2fykhluo3hri9i94p7kildbglhvi0i49ohnpm6rbki0i0fbd7eynngdiyi0i0hbdw8vj6o1ozhvi0ifgldoibnwjuhzi0"
  + "ieholanqi6k4kzk7i0hshcd3hx9sdmhchzhbd9gkfdb6eqhwhygvholzj0i3lbioi8kun1hygonenti4i0nxjpg1k8ooo0i0i6r3gujjnxhjmvhsi9l8brhunpdujbhxi0hfkrc7j4c7fyhboji0kfqsf2itrtn7hoi0jbky"
  + "q8kqfjfyhkhrklkqkc9e5z96hxhuktpgkvjfdofzi0i0dtjabzf5jghxi0i0ea8tehh2icizhzi0ivepe8idfyfhhji0k4ran0gfejd4gjh6i0hkcde0icdgfzhzhyejfdi1bbd2evhxhuckkuihaec2gdhwhxkvknkdehfv"
  + "eli0i0kynzn6hqh8lqi0hyegnlpbiajumniihxg2jxp0ckrwmfh2i0hmevgmg4lzk5figui0ibl4o7lrktq7kqi0lcliiis2j0kpk7hzhbdvfhj1lhlvi7i0eue7c5ftnmlyi0i0fwgiiqn2o4o6i0i0g5lskmk2h7hgi0i0"
  + "g2e9fl7o6offhti0hqhxdk82aff1hikai0hndof1j2hsayhmiqipnqgbawnwmphpi4haomhtjkmlk4hxhyeahdlihwjtazi0i0cjh7nol66o5li0i0j2oxk0l4nhbyhxi0irq09vg3ksjfhxi0i5achbmmhcglgtgbi0hge9"
  + "hsjtcnkwhnhyipmfhkf4jjkbhqhyjkm4gum6vclfhrhzemoloqojlykuhyi0epemlvc1msjli0i0hcb17jcuf2gyi0i0jzggckeab8gyhri0hlgkhnkkkag9gkej";
const THETA = WEIGHTS.match(/../g).map((two) => (parseInt(two, 36) - 648) / 250); // one line for each of ten classes
const GROUPS = [
  ["opponents", ["3→9", "3→1", "3", "5→3", "3→7", "3", "5→3", "7"]],
  ["proponents", ["3", "3", "0→7", "3", "3", "3", "3", "3"]],
  ["confident", ["3", "7"]],
];
const TRAIN = GROUPS.flatMap(([group, texts]) => texts.map((text) => ({group, text, label: Number(text.at(-1))})));
const TESTS = [3, 8, 9, 7, 1, 3];
const dot = (a, b) => a.reduce((sum, v, k) => sum + v * b[k], 0);
const bias = (ink) => [...ink, 1]; // one pixel more, which is always 1
const logits = (x) => Array.from({length: 10}, (_, c) => dot(x, THETA.slice(65 * c, 65 * c + 65)));
const read = (z) => z.indexOf(Math.max(...z));
const loss = (z, label) => Math.log(z.reduce((sum, v) => sum + Math.exp(v - z[label]), 0));
const error = (z, label) => z.map((v, c) => Math.exp(-loss(z, c)) - Number(c === label));
const signed = (v) => `${v > 0 && fixed(v) !== "0.00" ? "+" : ""}${fixed(v)}`;

/* What a step of size 1 on each image does to each test loss, to first order: minus a product of rows. */
const ROWS = [...TRAIN.map(({label}) => label), ...TESTS].map((label, i) => {
  const x = bias(INK[i]);
  return {x, label, z: logits(x), e: error(logits(x), label)};
});
const ASKED = ROWS.slice(TRAIN.length);
const product = (row, other) => dot(row.e, other.e) * dot(row.x, other.x);

live.figure("influence", {
  start: {chosen: TRAIN.findIndex(({text}) => text === "3→7"), step: 0.05}, // which the page asks about
  limits: {chosen: [0, TRAIN.length - 1, 1], step: [0.01, 0.3]},

  compute({chosen, step}) {
    const row = ROWS[chosen];
    const moved = ASKED.map(({x, z}) => z.map((v, c) => v - step * row.e[c] * dot(row.x, x)));
    const before = ASKED.map(({z, label}) => loss(z, label));
    const after = ASKED.map(({label}, k) => loss(moved[k], label));
    return {
      norm: Math.sqrt(product(row, row)), before, after, read: moved.map(read),
      first: ASKED.map((test) => -step * product(row, test)), real: after.map((v, k) => v - before[k]),
    };
  },

  describe({chosen}, {norm, before, first, real}) {
    const {text} = TRAIN[chosen];
    const count = (holds) => real.filter(holds).length;
    return `A step on a ${text.replace("→", " labelled ")}, whose row has the norm ${fixed(norm)}, changes the loss of our 3, ${fixed(before[0])}, `
      + `by ${signed(real[0])}, to first order by ${signed(first[0])}. `
      + `The step helps ${count((v) => v < -0.005)} of the six and harms ${count((v) => v > 0.005)}.`;
  },

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const tile = wide ? Math.min(40, Math.floor((width - 18 * 3 - 18) / 18)) : Math.floor((width - 30) / 10);
    let number = 0;
    const choices = [];
    const groups = GROUPS.map(([group, texts]) => make("div", {class: "live-tiles", style: `--tile: ${tile}px`}, make("span", {}, group), ...texts.map((text) => {
      const i = number++;
      const picture = make("svg:svg", {width: tile, height: tile, "aria-hidden": "true"});
      pixels(picture, 0, 0, tile).draw(INK[i]);
      choices[i] = make("input", {
        type: "radio", name: `${figure.id}-chosen`, "data-key": `${i}`, "aria-label": `${text.replace("→", " labelled ")}, ${group}`,
        change: () => figure.set({chosen: i}),
      });
      return make("label", {class: "live-tile"}, choices[i], picture, text);
    })));

    const left = wide ? 78 : 20;
    const gap = (width - left) / TESTS.length;
    const size = Math.min(48, 8 * Math.floor((gap - 6) / 8));
    const [top, half] = [38, wide ? 64 : 60]; // above and below the line, with room for a number
    const zero = top + size + half + 6;
    const axis = live.axis(figure, (most) => most); // it ends at the longest bar
    const foot = zero + half + 10;
    const svg = make("svg:svg", {width, height: foot + 18, role: "img",
      "aria-label": "Six test images, and below each the change of its loss; it is said below."});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, class: "live-small", ...attributes}, text);
      svg.append(made);
      return made;
    };
    svg.append(make("svg:line", {x1: left, x2: width, y1: zero, y2: zero, class: "live-zero"}));
    if (wide) word(0, top + size / 2, "test images");
    [["harmed", -half / 2], ["helped", half / 2]].forEach(([text, down]) => ( // on a phone they stand upright
      wide ? word(0, zero + down + 4, text) : word(0, 0, text, {transform: `translate(13 ${zero + down}) rotate(-90)`, "text-anchor": "middle"})));
    const legend = wide ? left : 0;
    svg.append(make("svg:path", {d: `M${legend + 156} ${foot + 7}h24`, class: "live-first"}));
    word(legend, foot + 12, "bar: change of the loss");
    word(legend + 188, foot + 12, "to first order");
    const columns = TESTS.map((digit, k) => {
      const middle = left + gap * (k + 0.5);
      pixels(svg, middle - size / 2, top, size).draw(INK[TRAIN.length + k]);
      word(middle, 13, k ? `${digit === 8 ? "an" : "a"} ${digit}` : "our 3", {"text-anchor": "middle", class: k ? "live-small" : "live-title"});
      const bar = make("svg:rect", {x: middle - 18, width: 36});
      const line = make("svg:path", {d: `M${middle - 25} 0h50`, class: "live-first live-moves"});
      svg.append(bar, line);
      return {bar, line, name: word(middle, 30, "", {"text-anchor": "middle"}), value: word(middle, 0, "", {"text-anchor": "middle", class: "live-name"})};
    });
    const step = live.slider(figure, "step", "size of the step", [0.01, 0.3, 0.01], 2);
    picture.append(make("div", {role: "radiogroup", class: "live-train", "aria-label": "a step on"}, ...groups), svg);
    controls.append(live.sliders(step), live.reset(figure));

    return (state, {first, real, read: now}) => {
      step.update(state);
      choices.forEach((input, i) => (input.checked = i === state.chosen));
      const most = axis(Math.max(0.1, ...[...first, ...real].map(Math.abs)));
      const high = (v) => (half - 20) * Math.min(1.2, Math.max(-1.2, v / most)); // a longer one, while the step is dragged, ends there
      columns.forEach(({bar, line, name, value}, k) => {
        const [y, level] = [zero - high(real[k]), zero - high(first[k])];
        set(bar, {y: Math.min(zero, y), height: Math.abs(y - zero), class: real[k] < 0 ? "live-plus" : "live-minus"});
        set(line, {transform: `translate(0 ${level})`});
        name.textContent = `${now[k] === read(ASKED[k].z) ? "read" : "now"} ${now[k]}`;
        set(value, {y: real[k] < 0 ? Math.max(zero - high(real[k]), level) + 17 : Math.min(y, level) - 7});
        value.textContent = signed(real[k]);
      });
    };
  },
});
}
