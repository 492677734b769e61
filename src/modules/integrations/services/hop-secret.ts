import { hkdfSync } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';

/** What the processes of a deployment know each other by, derived from what their database alone has. */
@Injectable()
export class HopSecret {
  #secret: Promise<Buffer> | undefined;

  constructor(private readonly db: Db) {}

  get(): Promise<Buffer> {
    this.#secret ??= this.#read().catch((error: unknown) => {
      this.#secret = undefined;
      throw error;
    });
    return this.#secret;
  }

  async #read(): Promise<Buffer> {
    const { rows } = await sql<{ secret: Buffer }>`select secret from deployment`.execute(this.db);
    return Buffer.from(hkdfSync('sha256', rows[0]!.secret, '', 'services', 32));
  }
}
