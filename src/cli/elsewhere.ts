/** Words that people bring along from other clients, and what is meant here. Flags without a command before them count everywhere. */
const MEANT: Readonly<Record<string, string>> = {
  'svc city delete': '`svc city unregister` lets go of a city; its directory stays',
  'svc city remove': '`svc city unregister` lets go of a city; its directory stays',
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
  'svc service start': '`svc service restart`',
  'svc session logs': '`svc session watch`, or `svc agent output AGENT`',
  'svc session tail': '`svc session watch`, or `svc logs AGENT --follow`',
  'svc session wait': '`svc session watch --until-idle`, or `svc session send --wait`',
  'svc pack show': '`svc pack list`',
  'svc get': 'lists are `svc city list`, `svc bead list`, `svc session list` …',
  'svc describe': 'everything of one thing is `svc bead show`, `svc session show`, `svc agent show` …',
  'svc apply': 'edit the files of the city, and see `svc config validate`',
  'svc delete': '`svc bead delete`, `svc agent delete`, `svc city unregister` …',
  '-n': '--city names the city',
  '--namespace': '--city names the city',
  '-f': '--follow goes on with what comes',
};

/** Verbs that say the same; a family has one of each. */
const ALIKE: readonly (readonly string[])[] = [
  ['delete', 'remove', 'rm', 'del', 'unregister', 'revoke'],
  ['create', 'add', 'new', 'make', 'set', 'save'],
  ['update', 'edit', 'change', 'modify', 'set', 'save'],
  ['list', 'ls', 'get'],
  ['show', 'view', 'get', 'describe', 'info', 'inspect', 'status'],
  ['run', 'fire', 'trigger', 'launch'],
  ['close', 'done', 'finish', 'complete'],
];

/** The command of a family that does what this word says elsewhere. */
function alike(word: string, commands: readonly string[]): string | undefined {
  for (const verbs of ALIKE) {
    const found = verbs.includes(word) ? verbs.find((verb) => commands.includes(verb)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
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
  const own = path.includes(' ') ? alike(word, commands) : undefined;
  const meant = MEANT[`${path} ${word}`] ?? (own === undefined ? MEANT[word] : `\`${path} ${own}\``);
  if (meant !== undefined) return `${said}: ${meant}`;
  return said === message ? `${said}; see \`${path} --help\`` : message;
}
