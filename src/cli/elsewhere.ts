const LET_GO = '`svc city unregister` lets go of a city; its directory stays';
const IN_FILES = 'edit the files of the city, and see `svc config validate`; `svc config set` sets its network';
const OF_CONVOY = '`svc convoy remove` takes beads out of it, `svc convoy delete` deletes it';
const each = (family: string, verbs: readonly string[], meant: string): Readonly<Record<string, string>> =>
  Object.fromEntries(verbs.map((verb) => [`${family} ${verb}`, meant]));

/** Words that people bring along from other clients, and what is meant here. Flags without a command before them count everywhere. */
const MEANT: Readonly<Record<string, string>> = {
  ...each('svc city', ['delete', 'remove', 'rm', 'del'], LET_GO),
  ...each('svc config', ['apply', 'create', 'add', 'new', 'make', 'edit', 'update', 'change', 'modify', 'save'], IN_FILES),
  ...each('svc convoy', ['rm', 'del'], OF_CONVOY),
  'svc pool': '`svc agent list` has the members of pools, `svc agent update POOL --max-active-sessions N` makes one larger or smaller',
  'svc ls': 'lists are `svc city list`, `svc bead list`, `svc session list` …',
  'svc login': '`svc context set NAME --server URL --key-file FILE`, then `svc context use NAME`',
  'svc version': '`svc --version`',
  'svc start': '`svc serve` starts the service, `svc city start` a city',
  'svc stop': '`svc city stop`, or `svc session stop` ends the turn of a session',
  'svc send': '`svc session send`, or `svc mail send`',
  'svc status': '`svc overview`, or `svc city status`',
  'svc ready': '`svc bead ready`',
  'svc suspend': '`svc city suspend`, `svc rig suspend` or `svc agent suspend`',
  'svc resume': '`svc city resume`, `svc rig resume` or `svc agent resume`',
  'svc city restart': '`svc city stop`, then `svc city start`',
  'svc session delete': '`svc session close`',
  'svc session remove': '`svc session close`',
  'svc session rm': '`svc session close`',
  'svc session start': '`svc session create AGENT`, or `svc session wake` for one that sleeps',
  'svc session resume': '`svc session wake`',
  'svc session cancel': '`svc session stop` ends its turn, `svc session close` the session',
  'svc session interrupt': '`svc session stop`',
  'svc bead tree': '`svc bead graph`',
  'svc bead search': '`svc search WORDS`',
  'svc formula run': '`svc sling TARGET --formula NAME`',
  'svc run start': '`svc sling TARGET --formula NAME`',
  'svc run stop': '`svc run cancel`',
  'svc order delete': 'take its file out of those of the city, or `svc order disable`',
  'svc order create': 'write it as orders/NAME.toml into the files of the city, and see `svc config validate`',
  'svc event list': '`svc events`',
  ...each('svc events', ['--limit', '--tail', '--lines', '-n'], '`svc events --since 5m`, or `svc events | tail -n 20`'),
  'svc events emit': '`svc event emit`',
  'svc service start': '`svc service restart`',
  ...each('svc session', ['log', 'logs', 'output', 'history', 'transcript'], '`svc session watch`, or `svc logs AGENT`'),
  'svc session peek': '`svc session show` has the last lines that it has said',
  'svc session restart': '`svc session kill` ends its process, `svc session reset` gives it a fresh conversation',
  'svc session usage': '`svc usage SESSION`',
  ...each('svc session', ['message', 'nudge', 'say', 'tell'], '`svc session send`'),
  ...each('svc agent', ['log', 'logs'], '`svc logs AGENT`'),
  ...each('svc agent', ['message', 'nudge', 'say', 'tell'], '`svc session send AGENT`'),
  'svc agent start': '`svc session create AGENT`, or `svc sling AGENT BEAD`',
  'svc agent stop':
    '`svc session stop` ends the turn of its session, `svc agent suspend` keeps it from having one, `svc session close` ends it for good',
  'svc agent restart': '`svc session kill` ends the process of its session, `svc session reset` gives it a fresh conversation',
  ...each('svc provider', ['check', 'test', 'doctor'], '`svc doctor --providers NAME`'),
  ...each('svc mail', ['write', 'new', 'create', 'compose'], '`svc mail send`'),
  'svc bead open': '`svc bead show`, or `svc bead reopen` for one that is closed',
  ...each('svc run', ['log', 'logs', 'steps'], '`svc run show`, or `svc run watch`'),
  ...each('svc order', ['log', 'logs', 'runs'], '`svc order history`'),
  ...each('svc city', ['log', 'logs', 'watch', 'events'], '`svc events --follow`'),
  ...each('svc event', ['follow', 'tail', 'watch'], '`svc events --follow`'),
  'svc rig clone': '`svc rig create NAME --git-url URL`',
  'svc context current': '`svc context list`',
  'svc context switch': '`svc context use`',
  'svc config cat': '`svc config show`',
  'svc ps': '`svc top`, or `svc session list`',
  'svc tail': '`svc logs AGENT --follow`, or `svc events --follow`',
  'svc kill': '`svc session kill`',
  'svc whoami': '`svc doctor` says which server it asks, and with which key',
  'svc session tail': '`svc session watch`, or `svc logs AGENT --follow`',
  'svc session wait': '`svc session watch --until-idle`, or `svc session send --wait`',
  'svc pack show': '`svc pack list`',
  ...each('svc pack', ['fetch', 'pull', 'sync', 'update', 'upgrade'], '`svc pack install` fetches what the files import'),
  'svc get': 'lists are `svc city list`, `svc bead list`, `svc session list` …',
  'svc describe': 'everything of one thing is `svc bead show`, `svc session show`, `svc agent show` …',
  'svc apply': 'edit the files of the city, and see `svc config validate`',
  'svc delete': '`svc bead delete`, `svc agent delete`, `svc city unregister` …',
  '-n': '--city names the city',
  '--namespace': '--city names the city',
  '-f': '--follow goes on with what comes',
};

/** Not what all objects have, such as `constructor`. */
const ofWord = (key: string): string | undefined => (Object.hasOwn(MEANT, key) ? MEANT[key] : undefined);

/** What verbs from elsewhere are called here; of several that a family has, the first. */
const ALIKE: readonly (readonly [words: readonly string[], verbs: readonly string[]])[] = [
  [
    ['delete', 'remove', 'rm', 'del'],
    ['delete', 'remove', 'revoke'],
  ],
  [
    ['create', 'add', 'new', 'make'],
    ['create', 'add', 'make', 'save', 'set'],
  ],
  [
    ['update', 'edit', 'change', 'modify', 'set', 'save'],
    ['update', 'save', 'set'],
  ],
  [['ls'], ['list']],
  [
    ['show', 'view', 'describe', 'info', 'inspect', 'status'],
    ['show', 'status'],
  ],
  [['fire', 'trigger', 'launch'], ['run']],
  [['done', 'finish', 'complete'], ['close']],
];

/** The commands of a family that do what this word says elsewhere. */
function alike(word: string, commands: readonly string[]): readonly string[] {
  // With the name of one it shows that one, without it lists.
  if (word === 'get') return ['show', 'list'].filter((verb) => commands.includes(verb));
  const found = ALIKE.find(([words]) => words.includes(word))?.[1].find((verb) => commands.includes(verb));
  return found === undefined ? [] : [found];
}

/** What takes something away, or ends it: nobody is led there by letters. */
const ENDING = new Set([
  ...['delete', 'remove', 'revoke', 'unregister', 'close', 'kill', 'reset', 'restart', 'stop', 'cancel', 'drain', 'land', 'unbind'],
  ...['suspend', 'archive', 'release', 'reopen', 'rotate', 'disable'],
]);

const GUESS = / \(Did you mean (?:one of )?([^?]*)\?\)$/;

/** The guess by letters, without what it must not name. */
function withoutEnding(message: string): string {
  const guessed = GUESS.exec(message)?.[1]?.split(', ') ?? [];
  const kept = guessed.filter((one) => !ENDING.has(one));
  if (kept.length === guessed.length) return message;
  const guess = kept.length === 0 ? '' : ` (Did you mean ${kept.length === 1 ? '' : 'one of '}${kept.join(', ')}?)`;
  return message.replace(GUESS, guess);
}

/** What a command takes, its help says. */
const AMISS = /^(missing required argument|too many arguments|required option)/;

const UNKNOWN = /^(unknown (?:command|option) '([^']+)')/;

/** A message of the command line with what is meant instead of a guess, where that is known. @param commands those below `path` */
export function withMeaning(path: string, message: string, commands: readonly string[]): string {
  if (AMISS.test(message)) return `${message.replace(/\.$/, '')}; see \`${path} --help\``;
  const [, said, word] = UNKNOWN.exec(message) ?? [];
  if (said === undefined || word === undefined) return message;
  // The commands of the root are families, not verbs.
  const own = path.includes(' ') ? alike(word, commands) : [];
  const meant = ofWord(`${path} ${word}`) ?? (own.length === 0 ? ofWord(word) : own.map((verb) => `\`${path} ${verb}\``).join(' or '));
  if (meant !== undefined) return `${said}: ${meant}`;
  const guess = withoutEnding(message);
  return said === guess ? `${said}; see \`${path} --help\`` : guess;
}
