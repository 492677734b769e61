import type pg from 'pg';

/** The columns that a row is written with. */
async function columnsOf(client: pg.Client, table: string): Promise<string> {
  const { rows } = await client.query<{ names: string }>(
    `select string_agg(quote_ident(column_name), ', ' order by ordinal_position) as names from information_schema.columns
     where table_name = $1 and table_schema = 'public' and is_generated = 'NEVER' and is_identity = 'NO'`,
    [table],
  );
  return rows[0]!.names;
}

/** Everything that one launch has written: rows of beads, edges, the run and events, as JSON texts with the ids as they are. */
export interface WrittenRun {
  readonly prefix: string;
  readonly beads: string;
  readonly edges: string;
  readonly run: string;
  readonly events: string;
  /** How many beads, edges and events. */
  readonly sizes: readonly [number, number, number];
}

export async function writtenRun(client: pg.Client, city: string, run: string): Promise<WrittenRun> {
  const read = async (text: string): Promise<{ rows: string; n: number }> =>
    (
      await client.query<{ rows: string; n: number }>(
        `select coalesce(json_agg(r), '[]')::text as rows, count(*)::int as n from (${text}) r`,
        [city, run],
      )
    ).rows[0]!;
  const at = '(select id from event_streams where name = $1)';
  const ids = `(select id from beads where stream_id = ${at} and run_id = $2)`;
  const beads = await read(`select * from beads where stream_id = ${at} and run_id = $2`);
  const edges = await read(`select * from bead_dependencies where stream_id = ${at} and issue_id in ${ids}`);
  const one = await read(`select * from runs where stream_id = ${at} and id = $2`);
  const events = await read(`select * from events where stream_id = ${at} and subject in ${ids}`);
  return {
    prefix: run.replace(/\d+$/, ''),
    beads: beads.rows,
    edges: edges.rows,
    run: one.rows,
    events: events.rows,
    sizes: [beads.n, edges.n, events.n],
  };
}

/** Inserts the same rows under other ids, and their events at the end of the log of a city, in one transaction of plain statements. */
export class RunInserter {
  #n = 0;

  private constructor(
    private readonly client: pg.Client,
    private readonly written: WrittenRun,
    private readonly streamId: number,
    private readonly columns: Readonly<Record<'beads' | 'bead_dependencies' | 'runs' | 'events', string>>,
  ) {}

  static async of(client: pg.Client, written: WrittenRun, city: string): Promise<RunInserter> {
    const { rows } = await client.query<{ id: number }>('select id from event_streams where name = $1', [city]);
    const columns = {
      beads: await columnsOf(client, 'beads'),
      bead_dependencies: await columnsOf(client, 'bead_dependencies'),
      runs: await columnsOf(client, 'runs'),
      events: await columnsOf(client, 'events'),
    };
    return new RunInserter(client, written, rows[0]!.id, columns);
  }

  async insert(): Promise<void> {
    const { client, written, columns, streamId } = this;
    const renamed = (rows: string): string => rows.replaceAll(`"${written.prefix}`, `"x${this.#n}-`);
    this.#n++;
    const put = (table: keyof typeof columns, rows: string): Promise<unknown> =>
      client.query({
        name: `put ${table}`,
        text: `insert into ${table} (${columns[table]}) select ${columns[table].replace('stream_id', '$2::integer')}
               from jsonb_populate_recordset(null::${table}, $1::jsonb)`,
        values: [renamed(rows), streamId],
      });
    await client.query('begin');
    await put('beads', written.beads);
    await put('bead_dependencies', written.edges);
    await put('runs', written.run);
    await client.query({
      name: 'put events',
      text: `with moved as (update event_streams set head = head + $3 where id = $2::integer returning head - $3 as head)
        insert into events (${columns.events})
        select ${columns.events.replace('stream_id', '$2::integer').replace(/\bseq\b/, 'm.head + row_number() over (order by e.seq)')}
        from moved m, jsonb_populate_recordset(null::events, $1::jsonb) e`,
      values: [renamed(written.events), streamId, written.sizes[2]],
    });
    await client.query('commit');
  }
}
