import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { describeIssue } from '../../../../files/composition/issue.js';
import { compile } from '../compile.js';
import type { Library } from '../library.js';
import type { Fragment, RecipeStep } from '../recipe.js';

/**
 * A case of the corpus: the files of a city, and what its formula becomes. Sections begin with a line `-- heading --`:
 * files by their paths, `-- compile <name> --` with a line `name = value` for each variable, or `preview`, and then either
 * `-- recipe --` or `-- issues --`, as `run` writes them.
 */
export interface FormulaCase {
  readonly about: string;
  readonly files: Readonly<Record<string, string>>;
  readonly name: string;
  readonly vars: Readonly<Record<string, string>>;
  readonly preview: boolean;
  readonly compiler: '1.0.0' | '2.0.0';
  readonly expected: string;
}

export function readFormulaCase(text: string): FormulaCase {
  const [about = '', ...parts] = text.split(/^-- (.+) --\n/m);
  const files: Record<string, string> = {};
  let name = '';
  let lines: string[] = [];
  let expected = '';
  for (let n = 0; n < parts.length; n += 2) {
    const [heading = '', body = ''] = [parts[n], parts[n + 1]];
    if (heading.startsWith('compile ')) {
      name = heading.slice('compile '.length);
      lines = body.split('\n').filter((line) => line !== '');
    } else if (heading === 'recipe' || heading === 'issues') expected = `${heading}\n${body}`;
    else files[heading] = body;
  }
  const options = new Set(lines.filter((line) => !line.includes(' = ')));
  const vars = Object.fromEntries(
    lines.filter((line) => line.includes(' = ')).map((line) => line.split(/ = (.*)/s).slice(0, 2) as [string, string]),
  );
  return { about, files, name, vars, preview: options.has('preview'), compiler: options.has('old') ? '1.0.0' : '2.0.0', expected };
}

/** A library of the files of a case: `formulas/<name>.toml`, and everything else beside it. */
export function libraryOf(files: Readonly<Record<string, string>>): Library {
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
  return {
    formula: (name) => {
      const file = `formulas/${name}.toml`;
      const text = Object.hasOwn(files, file) ? files[file] : undefined;
      return text === undefined ? undefined : { name, file, sha256: digest(text), text };
    },
    beside: (from, path) => {
      const file = posix.join(posix.dirname(from), path);
      const text = Object.hasOwn(files, file) ? files[file] : undefined;
      return text === undefined ? undefined : { file, sha256: digest(text), text };
    },
  };
}

/** What compiling gives, in words. */
export function run({ files, name, vars, preview, compiler }: FormulaCase): string {
  const { recipe, issues } = compile(name, libraryOf(files), { vars, injected: {}, strict: !preview, compiler });
  if (recipe === undefined) return `issues\n${issues.map((issue) => `${describeIssue(issue)}\n`).join('')}`;
  const head = [
    `compiler ${recipe.compiler}, ${recipe.phase}${recipe.root_only ? ', root only' : ''}`,
    ...Object.entries(recipe.vars).map(([key, value]) => `var ${key} = ${value}`),
    ...recipe.at_run.map((each) => `at run ${each}`),
    ...recipe.missing.map((each) => `missing ${each}`),
    ...recipe.sources.map((source) => `from ${source.file}`),
  ];
  return `recipe\n${head.map((line) => `${line}\n`).join('')}${linesOf(recipe, '')}`;
}

function linesOf({ steps, edges }: Fragment, indent: string): string {
  return steps.map((step) => `${indent}${lineOf(step)}${needsOf(step.id, edges)}\n${detailsOf(step, `${indent}    `)}`).join('');
}

function lineOf({ id, kind, type, title }: RecipeStep): string {
  return `${id} (${kind}${type === kind ? '' : ` ${type}`}) ${title}`;
}

function needsOf(id: string, edges: Fragment['edges']): string {
  const needs = edges.filter(({ to }) => to === id).map(({ from, kind }) => (kind === 'blocks' ? from : `${kind}:${from}`));
  return needs.length === 0 ? '' : ` <- ${needs.sort().join(', ')}`;
}

function detailsOf(step: RecipeStep, indent: string): string {
  const { description, notes, priority, labels, metadata, assignee, parent, scope, control } = step;
  const body = control !== undefined && 'body' in control ? control.body : undefined;
  const facts: [string, unknown][] = [
    ['description', description || undefined],
    ['notes', notes || undefined],
    ['priority', priority],
    ['labels', labels.length === 0 ? undefined : labels],
    ['assignee', assignee || undefined],
    ['parent', parent],
    ['scope', scope],
    ['metadata', Object.keys(metadata).length === 0 ? undefined : metadata],
    ['control', control && { ...control, ...(body === undefined ? {} : { body: '…' }) }],
  ];
  const told = facts
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${indent}${key}: ${typeof value === 'string' ? value.trim() : JSON.stringify(value)}\n`);
  return told.join('') + (body === undefined ? '' : linesOf(body, `${indent}| `));
}
