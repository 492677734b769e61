import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { withExamples } from '../command.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';
import { readText } from '../values.js';

interface Flags {
  readonly name?: string;
  readonly json?: boolean;
}

/** Rounds in which files are read that the last one asked for. */
const ROUNDS = 50;

export function addValidate(formula: Command, io: Io): void {
  const validate = formula
    .command('validate')
    .description('check the file of a formula here, without a server; what it extends and expands is looked for beside it')
    .argument('<file>', 'the file; - reads standard input')
    .option('--name <name>', 'the formula (default: the name of the file)')
    .option('--json', 'print the answer as one JSON line');
  withExamples(validate, 'svc formula validate formulas/greet.toml', 'svc formula validate - --name greet < greet.toml');
  validate.action(async (file: string, flags: Flags) => {
    const name = flags.name ?? nameOfFile(file);
    const errors = await problemsOf(file, name, await readText('<file>', file, io), io.cwd);
    const valid = errors.length === 0;
    if (flags.json === true) await io.out(`${JSON.stringify(valid ? { valid } : { valid, errors })}\n`);
    else await io.out(valid ? `${plain(name)} can be used\n` : errors.map((error) => `${plain(error)}\n`).join(''));
    // What is wrong has been said; the status says it to programs.
    if (!valid) throw new CliError('', 1);
  });
}

/** The formula that a file is called after. @throws CliError for standard input, which has no name */
export function nameOfFile(file: string): string {
  if (file === '-') throw new CliError('standard input has no name: say which formula it is with --name');
  return basename(file).replace(/(\.formula)?\.toml$/, '');
}

/** What is wrong, a line each: file, line, key. */
async function problemsOf(file: string, name: string, text: string, cwd: string): Promise<string[]> {
  // The compiler is loaded by the one command that needs it.
  const [{ validate }, { describeIssue }] = await Promise.all([
    import('../../modules/orchestration/formulas/compile/describe.js'),
    import('../../modules/files/composition/issue.js'),
  ]);
  const folder = file === '-' ? '.' : dirname(file);
  const texts = new Map<string, string | undefined>([[file, text]]);
  const wanted = new Set<string>();
  const textAt = (path: string): string | undefined => {
    if (!texts.has(path)) wanted.add(path);
    return texts.get(path);
  };
  const sha256 = (of: string): string => createHash('sha256').update(of).digest('hex');
  const library = {
    formula: (asked: string) => {
      if (asked === name) return { name, file, sha256: sha256(text), text };
      if (!/^[A-Za-z0-9_-]+$/.test(asked)) return undefined;
      const path = [join(folder, `${asked}.toml`), join(folder, `${asked}.formula.toml`)].find((each) => textAt(each) !== undefined);
      return path === undefined ? undefined : { name: asked, file: path, sha256: sha256(textAt(path)!), text: textAt(path)! };
    },
    beside: (from: string, path: string) => {
      const at = join(dirname(from), path);
      const found = textAt(at);
      return found === undefined ? undefined : { file: at, sha256: sha256(found), text: found };
    },
  };
  for (let round = 0; ; round++) {
    const { issues } = validate(name, library, '2.0.0');
    if (wanted.size === 0 || round === ROUNDS) return issues.map(describeIssue);
    for (const path of wanted) texts.set(path, await readFile(resolve(cwd, path), 'utf8').catch(() => undefined));
    wanted.clear();
  }
}
