import type { Schemas } from '../api.js';
import type { Io } from '../io.js';
import { plain, table } from '../table.js';

type Summary = Schemas['FormulaSummaryResponse'];
type Detail = Schemas['FormulaDetailResponse'];
type Step = Detail['steps'][number];

export function formulaTable(items: readonly Summary[], io: Io): string {
  const rows = items.map(({ name, source, shadows, errors, description }) => [
    name,
    source.file,
    shadows.length === 0 ? '' : shadows.map(({ file }) => file).join(', '),
    errors === undefined ? description : `unusable: ${errors[0]!}`,
  ]);
  return table(['NAME', 'FILE', 'SHADOWS', 'DESCRIPTION'], rows, io);
}

export function formulaDetails(detail: Detail): string {
  const { name, title, description, source, shadows, compiler, var_defs: vars, missing } = detail;
  const facts = [
    ['name', name],
    ['title', title ?? ''],
    ['description', description],
    ['file', source.file],
    ['shadows', shadows.map(({ file }) => file).join(', ')],
    ['compiler', compiler],
    ['missing', missing.join(', ')],
  ];
  const told = facts.filter(([, value]) => value !== '').map(([key, value]) => `${key!.padEnd(12)} ${plain(value!)}\n`);
  const rows = vars.map((each) => [
    each.name,
    each.type,
    each.required === true ? 'required' : textOf(each.default),
    each.enum?.join(', ') ?? each.pattern ?? '',
    each.description ?? '',
  ]);
  const variables = rows.length === 0 ? '' : `\n${table(['VARIABLE', 'TYPE', 'DEFAULT', 'VALUES', 'DESCRIPTION'], rows)}`;
  return `${told.join('')}${variables}\n${previewTree(detail)}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? `"${value}"` : '';
}

/** Steps below those that they are parts of, each with what it waits for. */
export function previewTree({ name, steps, deps }: Detail): string {
  const short = (id: string): string => (id.startsWith(`${name}.`) ? id.slice(name.length + 1) : id);
  const needs = new Map<string, string[]>();
  for (const { from, to } of deps) needs.set(to, [...(needs.get(to) ?? []), short(from)]);
  const ids = new Set(steps.map(({ id }) => id));
  const below = new Map<string, Step[]>();
  for (const step of steps) {
    const over = step.repeated_by ?? (step.parent !== undefined && ids.has(step.parent) ? step.parent : '');
    below.set(over, [...(below.get(over) ?? []), step]);
  }
  const lines: string[] = [];
  const walk = (over: string, indent: string): void => {
    const items = below.get(over) ?? [];
    for (const [n, step] of items.entries()) {
      const last = n === items.length - 1;
      const kind = step.kind === 'task' ? '' : ` (${step.kind})`;
      const waits = needs.get(step.id) ?? [];
      lines.push(
        plain(
          `${indent}${last ? '└─' : '├─'} ${short(step.id)}${kind}: ${step.title}${waits.length === 0 ? '' : `  after ${waits.join(', ')}`}`,
        ),
      );
      walk(step.id, `${indent}${last ? '   ' : '│  '}`);
    }
  };
  walk('', '');
  return `${plain(name)}\n${lines.map((line) => `${line}\n`).join('')}`;
}
