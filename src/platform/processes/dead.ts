import { sql } from 'kysely';

/** Of a process of the service, `processes p`: it has stopped, or its beats are missed. */
export const DEAD = sql<boolean>`(p.stopped_at is not null or p.heartbeat_at < clock_timestamp() - interval '10 seconds')`;
