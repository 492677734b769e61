import { z } from 'zod';
import { queryList, queryText } from '../../../contract/query.js';
import { CITY_NAME_MAX } from '../../../contract/scalars.js';
import { EVENT_KIND_MAX } from './events.schemas.js';

/** Long enough for the composite cursor of 10,000 cities; the server's limit on request heads comes on top. */
const CURSOR_MAX = 1 << 20;

const types = queryList({ max: 100, each: EVENT_KIND_MAX }).describe(
  'Only of these kinds, by commas; the position moves on over the others all the same.',
);

export const CityStreamQuery = z.strictObject({ after_seq: queryText({ max: 40 }), type: types });
export type CityStreamQuery = z.infer<typeof CityStreamQuery>;

export const SupervisorStreamQuery = z.strictObject({
  after_cursor: queryText({ max: CURSOR_MAX }),
  type: types,
  cities: queryList({ each: CITY_NAME_MAX }),
});
export type SupervisorStreamQuery = z.infer<typeof SupervisorStreamQuery>;
