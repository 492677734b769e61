import { z } from 'zod';
import { absolute } from './host-path.js';

/** ssh reads blanks, quotes, `%` and `$` in the names of its files in ways of its own. */
const PLAIN = /^[\w./@+,:~-]+$/;
const sshFile = absolute.refine((at) => PLAIN.test(at), 'has characters that ssh would read in its own way');
/** A name, or all names below one; with a port where it is not that of the transport. Never every host: who names one would be told the token. */
const HOST = /^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/;
const ADDRESS = /^\[[0-9a-f:.]+\](:\d{1,5})?$/;
const host = z
  .string()
  .max(300)
  .toLowerCase()
  .refine((given) => HOST.test(given) || ADDRESS.test(given), 'has to be a host, *.host or host:port');
const USUAL = { https: 443, ssh: 22 } as const;
const ONE_LINE = /^[^\p{Cc}]{1,300}$/u;

/** With what git signs in at a host, as the operator of this machine says it: `[[git.credentials]]` of `host.toml`. */
export const GitRule = z
  .strictObject({
    host,
    /** Names of cities, `*` at the end for all that begin so; absent: every city, and packs, which all cities share. */
    cities: z.array(z.string().min(1).max(200)).optional(),
    ssh_key: sshFile.optional(),
    known_hosts: sshFile.optional(),
    /** Who signs in with the key; who names a repository never says that. */
    user: z
      .string()
      .regex(/^[A-Za-z_][\w.-]{0,63}$/, 'is no name of a user')
      .optional(),
    token_file: absolute.optional(),
    username: z.string().regex(ONE_LINE, 'has to be one line').optional(),
    /** A program that speaks git's protocol of credential helpers. */
    helper: z.tuple([absolute]).rest(z.string().max(4_096)).optional(),
    /** The authority behind the certificate of the host, when it is not a public one. */
    ca_cert: absolute.optional(),
  })
  .superRefine(({ ssh_key, known_hosts, user, token_file, username, helper, ca_cert }, context) => {
    const wrong = (message: string): void => context.addIssue({ code: 'custom', message });
    if ([ssh_key, token_file, helper].filter((each) => each !== undefined).length > 1)
      wrong('has more than one of ssh_key, token_file and helper');
    if (ssh_key === undefined && (known_hosts ?? user) !== undefined) wrong('has known_hosts or user without ssh_key');
    if (token_file === undefined && username !== undefined) wrong('has username without token_file');
    if (ssh_key !== undefined && ca_cert !== undefined) wrong('has ca_cert with ssh_key');
  });
export type GitRule = z.infer<typeof GitRule>;

export interface AskedHost {
  readonly transport: 'https' | 'http' | 'ssh' | 'file';
  readonly host: string;
  /** Undefined for that of the transport. */
  readonly port: number | undefined;
}

/**
 * The first rule for this host that is for this city; `closed` when there are rules for the host, and none for the city. Undefined when there
 * are none for the host.
 *
 * @param city undefined for what all cities share: only rules without cities are for that
 */
export function ruleFor(rules: readonly GitRule[], asked: AskedHost, city: string | undefined): GitRule | 'closed' | undefined {
  const { transport } = asked;
  if (transport !== 'https' && transport !== 'ssh') return undefined;
  const there = rules.filter((rule) => (rule.ssh_key !== undefined) === (transport === 'ssh') && isFor(rule.host, asked, USUAL[transport]));
  const found = there.find(({ cities }) => cities === undefined || cities.some((name) => isNamed(name, city)));
  return found ?? (there.length > 0 ? 'closed' : undefined);
}

/** A rule without a port is for the port of the transport alone: at another one of the same host somebody else may listen. */
function isFor(pattern: string, { host: asked, port }: AskedHost, usual: number): boolean {
  const [, name, digits] = /^(.*?)(?::(\d+))?$/.exec(pattern)!;
  if (Number(digits ?? usual) !== (port ?? usual)) return false;
  return name!.startsWith('*.') ? asked.endsWith(name!.slice(1)) && asked.length >= name!.length : name === asked;
}

function isNamed(pattern: string, city: string | undefined): boolean {
  if (city === undefined) return false;
  return pattern.endsWith('*') ? city.startsWith(pattern.slice(0, -1)) : pattern === city;
}
