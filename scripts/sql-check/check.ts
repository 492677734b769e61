import ts from 'typescript';
import type { Column, Described, Description } from './described.js';
import { Unreadable } from './around.js';
import type { Crossing } from './crossing.js';
import type { Reading } from './reading.js';
import type { Sources } from './sources.js';
import type { Statement } from './statements.js';
import { asked, type Given } from './text.js';
import { Comparison, kindsOf, worded, type Kind } from './types.js';

export const CROSSES = 'may concern more than one city';

/** Compares statements with the schema, each in every way in which it may read. */
export class Check {
  readonly #comparison: Comparison;
  #kinds = new Map<number, Kind>();
  #names = new Map<number, string>();
  ways = 0;
  /** Where it is to be told of statements that may concern more than one city. */
  crossing: Crossing | undefined;

  constructor(
    private readonly sources: Sources,
    private readonly reading: Reading,
    private readonly described: Described,
  ) {
    this.#comparison = new Comparison(sources.checker);
  }

  async open(): Promise<void> {
    const types = await this.described.types();
    this.#kinds = kindsOf(types);
    this.#names = new Map(types.map(({ oid, name }) => [oid, name]));
  }

  /** What is wrong with it, each thing once. */
  async faults({ text, row }: Statement): Promise<Set<string>> {
    const found = new Set<string>();
    try {
      for (const way of this.reading.statement(text)) {
        this.ways++;
        const { sql, given } = asked(way);
        if (this.crossing?.is(sql) === true) found.add(CROSSES);
        const description = await this.described.describe(sql).catch((error: Error) => error);
        if (description instanceof Error) found.add(`PostgreSQL says: ${description.message}`);
        else for (const fault of [...this.#given(given, description), ...this.#row(row, description, sql)]) found.add(fault);
      }
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      found.add(`cannot be read: ${error.message}`);
    }
    return found;
  }

  *#given(given: readonly Given[], { given: types }: Description): Iterable<string> {
    for (const [n, { type }] of given.entries())
      if (!this.#comparison.isGivable(type, this.#kinds.get(types[n]!)!))
        yield `$${n + 1} is ${this.#names.get(types[n]!)} and is given ${this.#worded(type)}`;
  }

  *#row(row: ts.Type | undefined, { columns }: Description, sql: string): Iterable<string> {
    if (row === undefined || row.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return;
    const known = new Map(columns.map((column) => [column.name, column]));
    for (const member of this.sources.checker.getPropertiesOfType(row)) {
      const column = known.get(member.name);
      const type = this.sources.checker.getTypeOfSymbol(member);
      if (column !== undefined) yield* this.#column(column, type, sql);
      else if (!(member.flags & ts.SymbolFlags.Optional)) yield `it has no column ${member.name}`;
    }
  }

  *#column({ name, type: oid, nullable }: Column, type: ts.Type, sql: string): Iterable<string> {
    const kind = this.#kinds.get(oid)!;
    if (!this.#comparison.fits(type, kind))
      yield `${name} is ${this.#names.get(oid)}, a ${worded(kind)} here, and is said to be ${this.#worded(type)}`;
    else if (nullable !== undefined && !isAsked(nullable, sql) && !this.#comparison.canBeNull(type)) yield `${name} may be null`;
  }

  #worded(type: ts.Type): string {
    return this.sources.checker.typeToString(type);
  }
}

/** Whether a statement says itself what a column is, or that it is there. */
function isAsked(column: string, sql: string): boolean {
  return new RegExp(`\\b${column}\\s*(=|<|>|is not null)`).test(sql);
}
