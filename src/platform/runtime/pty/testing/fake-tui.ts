/**
 * A terminal interface as coding agents have one: what has been said stands above, a framed input line below is painted
 * again with every change. It takes pastes, asks before it does some things, and does what its input says. Its time passes
 * when its terminal says so (see stepped-terminal.ts).
 */
export const FAKE_TUI = String.raw`
const out = (text) => process.stdout.write(text);
let now = 0;
const timers = new Map();
let timed = 0;
const later = (act, ms, every = false) => { timers.set(++timed, { act, at: now + ms, every: every ? ms : 0 }); return timed; };
const pass = (ms) => {
  const end = now + ms;
  for (;;) {
    const [id, next] = [...timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at)[0] ?? [];
    if (next === undefined) break;
    now = next.at;
    if (next.every > 0) next.at += next.every;
    else timers.delete(id);
    next.act();
  }
  now = end;
  out('\x1b]7711;\x07');
};
const mode = process.env.FAKE ?? '';
let live = [];
let input = '';
let dialog;
let working;
let spins = 0;
const paint = (above = []) => {
  if (live.length > 0) out('\x1b[' + (live.length - 1) + 'A\r');
  out('\x1b[0J');
  for (const line of above) out(line + '\r\n');
  if (dialog) live = [...dialog.text, ...dialog.choices.map((choice, index) => (index === 0 ? '❯ ' : '  ') + (index + 1) + '. ' + choice)];
  else live = [...(working ? ['* ' + 'Working' + '.'.repeat(spins++ % 4) + ' (esc to interrupt)'] : []), '─'.repeat(60), '❯ ' + input.replaceAll('\r', '⏎'), '─'.repeat(60)];
  out(live.join('\r\n'));
};
const say = (...lines) => paint(lines);
const stop = (...lines) => { timers.delete(working); working = undefined; say(...lines); };
const work = (then) => { working = later(() => then && paint(), 40, true); if (then) later(then, 200); paint(); };
const ask = (text, choices, chosen) => { dialog = { text, choices, chosen }; paint(); };
const menu = (what, then) => ask(['Bash command', '  ' + what, '', 'Do you want to proceed?'], ['Yes', "Yes, and don't ask again", 'No, and say what to do instead'], then);
const obey = (text) => {
  say('> ' + text.replaceAll('\r', ' / '));
  const [word, arg] = text.split(' ');
  if (word === 'long') return work();
  if (word === 'die') process.exit(Number(arg));
  if (word === 'lines') return work(() => stop(...Array.from({ length: Number(arg) }, (_, index) => 'line ' + (index + 1))));
  if (word === 'wide') return work(() => stop('w'.repeat(400)));
  if (word === 'limit') return work(() => stop("You've hit your usage limit · resets 3pm"));
  if (word === 'menu') return work(() => { stop(); menu(arg, (choice) => work(() => stop('you chose ' + choice))); });
  if (word === 'odd') return work(() => { stop(); ask(['Some new thing that nobody knows', 'Which colour?'], ['Red', 'Blue'], (choice) => say('colour ' + choice)); });
  if (word === 'deaf') return;
  work(() => stop('echo: ' + text.replaceAll('\r', ' / ')));
};
process.on('SIGHUP', () => { if (mode !== 'stubborn') process.exit(0); });
process.on('SIGTERM', () => { if (mode !== 'stubborn') process.exit(0); });
process.stdin.setRawMode(true);
process.stdin.setEncoding('utf8');
let pasting = false;
let unread = '';
process.stdin.on('data', (bytes) => {
  unread += bytes;
  for (let step; (step = /\x1b\]7711;(\d+)\x07/.exec(unread)) !== null; ) {
    const typed = unread.slice(0, step.index);
    unread = unread.slice(step.index + step[0].length);
    read(typed);
    pass(Number(step[1]));
  }
});
const read = (bytes) => {
  const data = bytes.replace(/\x1b\[\d+;\d+R/, '');
  if (data === '') return;
  if (dialog) {
    const choice = Number(data);
    if (data === '\x1b') { dialog = undefined; return stop('you escaped'); }
    if (!(choice >= 1 && choice <= dialog.choices.length)) return say('unexpected key ' + JSON.stringify(data));
    const { chosen } = dialog;
    dialog = undefined;
    paint();
    return chosen(choice);
  }
  if (mode === 'blind') return;
  for (const part of data.split(/(\x1b\[200~|\x1b\[201~|\r|\x1b|\x03|\x15)/)) {
    if (part === '\x1b[200~') pasting = true;
    else if (part === '\x1b[201~') pasting = false;
    else if (part === '\r' && !pasting) {
      if (mode === 'lazy') continue;
      const text = input;
      input = '';
      if (text !== '') obey(text);
    } else if (part === '\x1b') { if (working) stop('interrupted'); }
    else if (part === '\x03') process.exit(130);
    else if (part === '\x15') input = '';
    else input += part;
  }
  paint();
};
out('\x1b]7711;\x07');
if (mode === 'gone') process.exit(3);
if (mode === 'sign-in') { out('Welcome\r\n\r\nSelect login method:\r\n'); setInterval(() => undefined, 1000); }
else {
  out('\x1b[?2004h\x1b[6n');
  const begin = () => say('welcome ' + (process.env.SVC_SESSION_ID ?? ''), ...process.argv.slice(2));
  if (mode === 'trust') ask(['Do you trust the files in this folder?', '/work'], ['Yes, proceed', 'No, exit'], (choice) => (choice === 1 ? begin() : process.exit(1)));
  else if (mode === 'silent') setInterval(() => undefined, 1000);
  else later(begin, 50);
}
`;
