/** Words that people bring along from other clients, and what is meant here. Without a command before them they count everywhere. */
const MEANT: Readonly<Record<string, string>> = {
  'svc city delete': '`svc city unregister` lets go of a city; its directory stays',
  'svc city remove': '`svc city unregister` lets go of a city; its directory stays',
  'svc context remove': '`svc context delete`',
  'svc pool': '`svc agent list` has the members of pools, `svc agent update POOL --max-active-sessions N` makes one larger or smaller',
  'svc status': '`svc overview`, or `svc city status`',
  'svc ready': '`svc bead ready`',
  'svc suspend': '`svc city suspend`, `svc rig suspend` or `svc agent suspend`',
  'svc resume': '`svc city resume`, `svc rig resume` or `svc agent resume`',
  'svc session delete': '`svc session close`',
  'svc session logs': '`svc session watch`, or `svc agent output AGENT`',
  'svc session tail': '`svc session watch`, or `svc logs AGENT --follow`',
  'svc session wait': '`svc session watch --until-idle`, or `svc session send --wait`',
  'svc agent add': '`svc agent create`',
  'svc rig add': '`svc rig create`',
  'svc pack show': '`svc pack list`',
  get: 'lists are `svc city list`, `svc bead list`, `svc session list` …',
  describe: 'everything of one thing is `svc bead show`, `svc session show`, `svc agent show` …',
  apply: 'edit the files of the city, and see `svc config validate`',
  delete: '`svc bead delete`, `svc agent delete`, `svc city unregister` …',
  '-n': '--city names the city',
  '--namespace': '--city names the city',
  '-f': '--follow goes on with what comes',
};

/** What a command takes, its help says. */
const AMISS = /^(missing required argument|too many arguments|required option)/;

const UNKNOWN = /^(unknown (?:command|option) '([^']+)')/;

/** A message of the command line with what is meant instead of a guess, where that is known. */
export function withMeaning(path: string, message: string): string {
  if (AMISS.test(message)) return `${message.replace(/\.$/, '')}; see \`${path} --help\``;
  const [, said, word] = UNKNOWN.exec(message) ?? [];
  if (said === undefined || word === undefined) return message;
  const meant = MEANT[`${path} ${word}`] ?? MEANT[word];
  return meant === undefined ? message : `${said}: ${meant}`;
}
