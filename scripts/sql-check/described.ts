import pg from 'pg';
import type { PgType } from './types.js';

export interface Column {
  readonly name: string;
  readonly type: number;
  /** Its name in its table, where it is a column of one as it stands, and may be null there. */
  readonly nullable: string | undefined;
}

export interface Description {
  readonly columns: readonly Column[];
  /** Types of what is given. */
  readonly given: readonly number[];
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
  readonly tableID: number;
  readonly columnID: number;
}

/** What PostgreSQL says of a statement without carrying it out. */
export class Described {
  readonly #client: pg.Client;
  #nullable = new Map<string, string>();

  constructor(url: string) {
    this.#client = new pg.Client({ connectionString: url });
  }

  async open(): Promise<void> {
    await this.#client.connect();
    const { rows } = await this.#client.query<{ key: string; name: string }>(
      `select a.attrelid || '.' || a.attnum as key, a.attname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
       where not a.attnotnull and a.attnum > 0 and c.relnamespace = 'public'::regnamespace`,
    );
    this.#nullable = new Map(rows.map(({ key, name }) => [key, name]));
  }

  async types(): Promise<PgType[]> {
    const { rows } = await this.#client.query<PgType>(
      `select oid::int, typname as name, case when typlen = -1 then typelem::int else 0 end as element from pg_type`,
    );
    return rows;
  }

  close(): Promise<void> {
    return this.#client.end();
  }

  /** @throws what PostgreSQL has against it */
  async describe(text: string): Promise<Description> {
    const { fields, given } = await new Promise<{ fields: Field[]; given: number[] }>((resolve, reject) => {
      this.#client.query(new Question(text, resolve, reject) as unknown as pg.Submittable);
    });
    const columns = fields.map(({ name, dataTypeID: type, tableID, columnID }) => ({
      ...{ name, type },
      nullable: this.#nullable.get(`${tableID}.${columnID}`),
    }));
    return { columns, given };
  }
}

interface Wire {
  once(name: string, heard: (message: { dataTypeIDs: number[] }) => void): void;
  removeListener(name: string, heard: unknown): void;
  parse(query: { text: string; name: string; types: number[] }): void;
  describe(what: { type: string; name: string }): void;
  sync(): void;
}

/** Parse and describe, as `pg` carries out what it is given. */
class Question {
  #fields: Field[] = [];
  #given: number[] = [];
  #failed: Error | undefined;
  readonly #hear = ({ dataTypeIDs }: { dataTypeIDs: number[] }): void => void (this.#given = dataTypeIDs);

  constructor(
    private readonly text: string,
    private readonly resolve: (answer: { fields: Field[]; given: number[] }) => void,
    private readonly reject: (error: Error) => void,
  ) {}

  submit(wire: Wire): void {
    wire.once('parameterDescription', this.#hear);
    wire.parse({ text: this.text, name: '', types: [] });
    wire.describe({ type: 'S', name: '' });
    wire.sync();
  }

  handleRowDescription({ fields }: { fields: Field[] }): void {
    this.#fields = fields;
  }

  /** After an error `pg` tells nobody that it is ready. */
  handleError(error: Error, wire: Wire): void {
    this.#failed = error;
    this.handleReadyForQuery(wire);
  }

  handleReadyForQuery(wire: Wire): void {
    wire.removeListener('parameterDescription', this.#hear);
    if (this.#failed === undefined) this.resolve({ fields: this.#fields, given: this.#given });
    else this.reject(this.#failed);
  }
}
