import { sql, type RawBuilder } from 'kysely';

/** Places of a worker for leased work. */
export interface Places {
  /** How many are free. */
  readonly room: number;
  /** So many of these are for whatever waits; the others only for cities that have none of it in work. */
  readonly open: number;
}

/**
 * Which of what waits gets these places, as a subquery of keys: of cities that have the least of it in work first. Work may take as long as
 * its city likes, so the last places are kept for cities that have none.
 *
 * @param waiting a query of what waits: `pk`, and as `turn` the how many-th of its city it is, those in work counted before
 */
export function keysByTurn(waiting: RawBuilder<unknown>, { room, open }: Places): RawBuilder<unknown> {
  return sql`
    select p.pk from (select w.pk, w.turn, row_number() over (order by w.turn, w.pk) as place from (${waiting}) w) p
    where p.place <= ${open} or p.turn = 1 order by p.place limit ${room}`;
}
