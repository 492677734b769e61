import { Option, type Command } from 'commander';
import { CliError } from './errors.js';
import { EXIT } from './exit-codes.js';
import { harmless, harmlessLine } from './harmless.js';
import type { Io } from './io.js';
import { nameOfItem } from './item-name.js';

export const FORMATS = ['table', 'wide', 'json', 'jsonl', 'yaml', 'name'] as const;
export type Format = (typeof FORMATS)[number];

interface OutputFlags {
  readonly output?: Format;
  readonly jq?: string;
  readonly json?: boolean;
  readonly follow?: boolean;
  readonly watch?: boolean;
}

/** What a command that lists says of `--json`: it prints many. */
const EACH = /one JSON line for each|frames as JSON lines|accepted for old scripts/;
/** Commands that go on until they are interrupted, whatever their flags. */
const LIVE = new Set(['watch', 'connect']);
/** Lists that can be followed, by their names or by how they are called: what changes is told by the streams. */
const WATCHED = new Set([
  ...['list', 'ready', 'children', 'inbox', 'pending', 'messages', 'drift', 'thread', 'demand', 'public', 'revisions', 'explain'],
  ...['history', 'deliveries', 'transcript', 'bindings', 'hook show'],
]);

/** The flags that are typed most, as kubectl and gh have them. */
const SHORT: Readonly<Record<string, string>> = {
  '--city': '-c',
  '--follow': '-f',
  '--limit': '-L',
  '--all': '-a',
  '--label': '-l',
  '--status': '-s',
  '--type': '-t',
  '--message': '-m',
};

/** Gives flags their short forms, where nothing else in the command has that one. */
export function addShorts(command: Command): void {
  const taken = new Set(command.options.map(({ short }) => short));
  for (const option of command.options) {
    const short = SHORT[option.long ?? ''];
    if (short === undefined || option.short !== undefined || option.negate || taken.has(short)) continue;
    option.short = short;
    option.flags = `${short}, ${option.flags}`;
  }
  for (const sub of command.commands) addShorts(sub);
}

/** Gives every command that can print JSON the other formats too, and every list `--watch`. */
export function addFormats(command: Command): void {
  const json = command.options.find(({ long }) => long === '--json');
  if (json !== undefined) {
    command.addOption(new Option('-o, --output <format>', 'how to print it; wide and table are for people').choices(FORMATS));
    command.option('--jq <expression>', 'print what this jq expression makes of the JSON, of a list as one array');
    const family = command.parent?.name();
    const asksService = family !== 'context';
    if (
      asksService &&
      (WATCHED.has(command.name()) || WATCHED.has(`${family} ${command.name()}`)) &&
      EACH.test(json.description) &&
      !command.options.some(({ long }) => long === '--watch')
    )
      command.option('-w, --watch', 'go on with what changes, until Ctrl-C');
  }
  for (const sub of command.commands) addFormats(sub);
}

/** What a command prints, in the format that its flags say. The commands themselves know tables and JSON Lines. */
export class Output implements Io {
  #format: Format = 'table';
  #jq: string | undefined;
  #many = false;
  #live = false;
  #paged = false;
  /** Whether a request was made. */
  asked = false;
  set finishes(finishes: boolean) {
    this.io.finishes = finishes;
  }
  #rest = '';
  #count = 0;
  #shown = '';
  #said = '';
  #forPeople = false;
  readonly #values: unknown[] = [];

  constructor(private readonly io: Io) {}

  get env(): Io['env'] {
    return this.io.env;
  }
  get cwd(): string {
    return this.io.cwd;
  }
  get interactive(): boolean {
    return this.io.interactive;
  }
  get colour(): boolean {
    return this.io.colour;
  }
  get columns(): number {
    return this.io.columns;
  }
  get height(): number | undefined {
    return this.io.height;
  }
  get lines(): Io['lines'] {
    return this.io.lines;
  }
  get received(): Io['received'] {
    return this.io.received;
  }
  get typed(): boolean {
    return this.io.typed === true;
  }
  get terminal(): Io['terminal'] {
    return this.io.terminal;
  }
  get signal(): AbortSignal {
    return this.io.signal;
  }
  /** Nothing is cut when all is wanted. */
  get width(): number | undefined {
    return this.wide ? undefined : this.io.width;
  }
  get wide(): boolean {
    return this.#format === 'wide';
  }
  /** What a person looks at, or has asked for, as opposed to a file, a pipe or a program. */
  get readable(): boolean {
    const asText = this.#format === 'table' || this.#format === 'wide';
    return (this.io.width !== undefined || this.#forPeople) && this.#jq === undefined && asText;
  }
  input(): Promise<string> {
    return this.io.input();
  }
  /** What is said while a list is not yet shown, or is open, follows it: both may go to one terminal. */
  err(text: string): void {
    const open = this.#format === 'json' && this.#jq === undefined && this.#many && !this.#live && this.#count > 0;
    if (open || this.#shown !== '') this.#said += text;
    else this.io.err(text);
  }

  /** The command that runs, once its flags are known. @throws CliError */
  async begin(command: Command): Promise<void> {
    const flags = command.opts<OutputFlags>();
    const json = command.options.find(({ long }) => long === '--json');
    if (json === undefined) return;
    const asText = flags.output === undefined || flags.output === 'table' || flags.output === 'wide';
    if (flags.json === true && flags.output !== undefined && asText)
      throw new CliError(`--json and --output ${flags.output} are mutually exclusive`);
    if (flags.jq !== undefined && flags.output !== undefined && flags.output !== 'json')
      throw new CliError('--jq prints what its expression makes: leave out --output');
    if (flags.jq !== undefined) await compile(flags.jq);
    this.#jq = flags.jq;
    this.#format = flags.output ?? (flags.json === true ? 'jsonl' : 'table');
    this.#forPeople = flags.output === 'table' || flags.output === 'wide';
    this.#many = EACH.test(json.description);
    this.#live = flags.follow === true || flags.watch === true || LIVE.has(command.name());
    this.#paged = !this.#live && this.readable && this.io.page !== undefined;
    if (!asText || flags.jq !== undefined) command.setOptionValueWithSource('json', true, 'cli');
  }

  async out(text: string): Promise<void> {
    if (this.#jq === undefined && (this.#format === 'jsonl' || this.#format === 'table' || this.#format === 'wide')) {
      if (!this.#paged) return this.io.out(text);
      this.#shown += text;
      return;
    }
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()!;
    for (const line of lines) if (line !== '') await this.#take(line);
  }

  /** The end of the command; of one that has failed what was shown is ended, and nothing said that it has not. */
  async end(failed: boolean): Promise<void> {
    try {
      await this.#end(failed);
    } finally {
      if (this.#said !== '') this.io.err(this.#said);
    }
  }

  async #end(failed: boolean): Promise<void> {
    if (this.#shown !== '') {
      const rows = this.#shown.split('\n').length;
      if (this.io.page !== undefined && this.io.height !== undefined && rows > this.io.height) await this.io.page(this.#shown);
      else await this.io.out(this.#shown);
    }
    const asList = this.#many && !this.#live && !(failed && this.#count === 0);
    if (this.#jq !== undefined) {
      // Half of a list would pass for all of it; what was done is told, though something else has failed.
      if (!asList || (failed && this.io.finishes !== true)) return;
      return this.#print(this.#values);
    }
    if (this.#format === 'json' && asList) await this.io.out(this.#count === 0 ? '[]\n' : '\n]\n');
    if (this.#format === 'yaml' && asList && this.#count === 0) await this.io.out('[]\n');
  }

  async #take(line: string): Promise<void> {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      // What is no JSON is what the command says instead of it.
      return this.io.out(`${line}\n`);
    }
    const first = this.#count++ === 0;
    const asList = this.#many && !this.#live;
    if (this.#jq !== undefined) return asList ? void this.#values.push(value) : this.#print(value);
    if (this.#format === 'name')
      return this.io.out(
        nameOfItem(value)
          // Names are texts of agents, too, and a terminal would obey what is in them.
          .map((name) => `${this.io.width === undefined ? name : harmlessLine(name)}\n`)
          .join(''),
      );
    if (this.#format === 'yaml') {
      const { stringify } = await import('yaml');
      return this.io.out(asList ? stringify([value]) : `${first ? '' : '---\n'}${stringify(value)}`);
    }
    if (this.#live) return this.io.out(`${line}\n`);
    const pretty = JSON.stringify(value, null, 2);
    return this.io.out(asList ? `${first ? '[\n' : ',\n'}${pretty.replaceAll(/^/gm, '  ')}` : `${pretty}\n`);
  }

  async #print(value: unknown): Promise<void> {
    const { stdout, stderr, exitCode } = await jq(value, this.#jq!);
    // With -r texts of agents come as they are. Files and pipes get them so; a terminal would obey them.
    const shown = this.io.width === undefined ? stdout : harmless(stdout);
    if (shown !== '') await this.io.out(shown.endsWith('\n') ? shown : `${shown}\n`);
    if (exitCode !== 0) throw new CliError(`--jq: ${whyOf(stderr)}; the command itself was carried out`, EXIT.failed);
  }
}

async function jq(value: unknown, expression: string): Promise<{ stdout: string; stderr: string; exitCode: number }> {
  const { loadJq } = await import('jq-wasm');
  return (await loadJq()).raw(value as object, expression, ['-r', '-c']);
}

/** Before anything is sent: who is told that the command line is wrong takes it that nothing was done. @throws CliError */
async function compile(expression: string): Promise<void> {
  // It is all looked at, its names too, and not carried out. The new line ends a comment.
  const { stderr, exitCode } = await jq(null, `if . then (${expression}\n) else empty end`);
  if (exitCode !== 0) throw new CliError(`--jq: ${whyOf(stderr)}`, EXIT.usage);
}

const whyOf = (stderr: string): string => harmlessLine(stderr.replace(/^jq: /, '').split('\n')[0]!);
