import type { Issue } from '../issue.js';
import { keyLines } from '../toml/locate.js';
import { parseToml } from '../toml/parse.js';
import { tableOf, Table } from '../tree.js';
import { fileName, TreeFailure, type FileTree } from '../trees/file-tree.js';
import { check, type Finding } from './check.js';
import type { Format } from './format.js';
import { rename } from './rename.js';

/** Issues of one file that are told one by one. */
const ISSUES = 100;
/** Characters of a key in an issue. */
const KEY = 200;

/**
 * Reads a file and checks it against its format. What is answered has only known keys, under today's names, with values
 * of the right type; a table that lacks a required key is left out of its list. Undefined when there is no file, or when
 * it is unusable as a whole; everything that is wrong is pushed, and without an error nothing is.
 */
export async function readTable(
  tree: FileTree,
  path: string,
  format: Format,
  issues: Issue[],
  checked: typeof checkDocument = checkDocument,
): Promise<Table | undefined> {
  const file = fileName(tree, path);
  try {
    const text = await tree.read(path);
    return text === undefined ? undefined : checked(text, file, format, issues);
  } catch (error) {
    if (!(error instanceof TreeFailure) || error.transient) throw error;
    issues.push({ severity: 'error', file, key: '', message: error.message });
    return undefined;
  }
}

/** As `readTable` for a text at hand. */
export function checkDocument(text: string, file: string, format: Format, issues: Issue[]): Table | undefined {
  const document = parseToml(text, file, issues);
  if (document === undefined) return undefined;
  const { findings, cuts } = check(document, format);
  const left = cuts.apply(tableOf(document, { file }));
  const result = left instanceof Table ? rename(left, format, findings) : undefined;
  if (findings.length > 0) tell(findings, text, file, issues);
  return result;
}

/** Pushes findings in the order of their lines; of very many the first, errors before warnings. */
function tell(findings: readonly Finding[], text: string, file: string, issues: Issue[]): void {
  const line = keyLines(text);
  const errors = findings.filter((finding) => finding.severity === 'error');
  const shown =
    findings.length <= ISSUES ? findings : [...errors, ...findings.filter((finding) => finding.severity !== 'error')].slice(0, ISSUES);
  const placed = shown.map(({ key, ...rest }): Issue => {
    const at = line(key);
    return { ...rest, file, ...(at === undefined ? {} : { line: at }), key: key.length > KEY ? `${key.slice(0, KEY)}…` : key };
  });
  issues.push(...placed.sort((a, b) => (a.line ?? 0) - (b.line ?? 0)));
  const hidden = findings.length - shown.length;
  if (hidden > 0)
    issues.push({ severity: errors.length > ISSUES ? 'error' : 'warning', file, key: '', message: `and ${hidden} more of this file` });
}
