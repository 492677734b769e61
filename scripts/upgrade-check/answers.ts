import pg from 'pg';
import { Described, type Description } from '../sql-check/described.js';

type Answer = (Description & { readonly refused: string | undefined }) | { readonly refused: string };

/** What PostgreSQL says of statements under a schema: what comes back, what it takes, and whether it can be planned. Nothing is carried out. */
export class Answers {
  private constructor(
    private readonly answers: ReadonlyMap<string, Answer>,
    private readonly types: ReadonlyMap<number, string>,
  ) {}

  static async of(url: string, statements: Iterable<string>): Promise<Answers> {
    const described = new Described(url);
    await described.open();
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      const answers = new Map<string, Answer>();
      for (const sql of statements) {
        const description = await described.describe(sql).catch((error: Error) => error);
        answers.set(
          sql,
          description instanceof Error ? { refused: description.message } : { ...description, refused: await unplanned(client, sql) },
        );
      }
      return new Answers(answers, new Map((await described.types()).map(({ oid, name }) => [oid, name])));
    } finally {
      await client.end();
      await described.close();
    }
  }

  /** What these say of a statement that was right, and is no more. */
  *broken(later: Answers): Iterable<[sql: string, fault: string]> {
    for (const [sql, was] of this.answers) for (const fault of this.#fault(was, later.answers.get(sql)!, later)) yield [sql, fault];
  }

  *#fault(was: Answer, is: Answer, later: Answers): Iterable<string> {
    if (was.refused !== undefined) return; // It never was: what the check cannot make a statement of.
    if (is.refused !== undefined) yield `PostgreSQL says: ${is.refused}`;
    if (is.refused !== undefined || !('columns' in was) || !('columns' in is)) return;
    for (const { name, type } of was.columns) {
      const found = is.columns.find((column) => column.name === name);
      if (found === undefined) yield `${name} does not come back`;
      else if (this.types.get(type) !== later.types.get(found.type))
        yield `${name} comes back as ${later.types.get(found.type)} and not ${this.types.get(type)}`;
    }
    for (const [n, type] of was.given.entries())
      if (this.types.get(type) !== later.types.get(is.given[n]!))
        yield `$${n + 1} is ${later.types.get(is.given[n]!)} and was ${this.types.get(type)}`;
  }
}

/** What `on conflict` means is only looked for when a plan is made. */
async function unplanned(client: pg.Client, sql: string): Promise<string | undefined> {
  if (!/^\s*(select|insert|update|delete|merge|with)\b/i.test(sql)) return undefined;
  return client.query(`explain (generic_plan) ${sql}`).then(
    () => undefined,
    (error: Error) => error.message,
  );
}
