import { Injectable, type OnModuleInit } from '@nestjs/common';
import { problem } from '../../contract/problems.js';
import { SUPERVISOR_STREAM } from '../../contract/scalars.js';
import { AppConfig } from '../config/config.js';
import { placeOf } from '../event-log/epochs.js';
import { joinedSince } from '../event-log/joins.js';
import { MovedStreams } from '../event-log/moved.js';
import { Lifecycle } from '../health/lifecycle.js';
import { Metrics } from '../health/metrics.js';
import { repeat } from '../health/repeat.js';
import { AppLogger } from '../logging/logger.js';
import { sleep } from '../time/clock.js';
import { onTicks } from '../time/ticks.js';
import { databaseWaits } from '../turns/database-waits.js';
import { workFor } from '../turns/working.js';
import { Checkpoints, rateOfReplays } from './checkpoints.js';
import { Drain } from './drain.js';
import { FeedGroups, type SupervisorGroup } from './feed-groups.js';
import type { Feed } from './feed-scope.js';
import { StreamState, type CityGroup } from './feed-state.js';
import { isTopic, type Hint } from './hint.js';
import { LeftStreams } from './left-streams.js';
import { HintListener } from './listener.js';
import { StreamLogRepository, type StreamRow, type WireRow } from './stream-log.repository.js';
import { COMPOSITE_LIMIT } from './positions.js';

/** How often the base that ids count from is renewed if it is old. */
const RENEW_MS = 10 * 60_000;
/** How often stored cursors are dropped that no client may resume from any more. */
const PURGE_MS = 10 * 60_000;
/** How often all heads are read, and not only those that moved lately. */
const FULL_READ_MS = 60_000;
/** Limits of one fetch. */
const FETCH_STREAMS = 500;
const FETCH_EVENTS = 1_000;
const FETCH_BYTES = 4 << 20;
/** How long events are published before the event loop has a turn for others. */
const SLICE_MS = 4;

/**
 * The process's one reader of the log: one fetch for all streams that moved, frames encoded once, subscribers
 * in groups of equal rights and filters. NOTIFY and local commits only wake it. Each second it reads the heads
 * itself, and of each stream it accepts only the next seq.
 */
@Injectable()
export class StreamHub implements Feed, OnModuleInit {
  readonly streams = new Map<number, StreamState>();
  version = 0;
  readonly left = new LeftStreams(this.streams);
  readonly checkpoints: Checkpoints;
  readonly #byName = new Map<string, StreamState>();
  readonly #groups: FeedGroups;
  readonly #dirty = new Set<StreamState>();
  readonly #unknown = new Set<string>();
  #refreshing: Promise<void> | undefined;
  #nextRefresh: Promise<void> | undefined;
  #fullReadAt = -Infinity;
  #loaded = false;
  /** The epoch of the log when it was last read, the same for all streams. It goes back when the database was set back. */
  #epoch = 1;
  /** Undefined until the first stream is read. */
  #epochId: string | undefined;
  /** How often another log was found (a new epoch, or a gap). Rows of reads that began under a lower number may be of the log before. */
  #logs = 0;
  #stopped = false;
  readonly #stop = new AbortController();
  readonly #drain = new Drain(
    () => this.#dirty.size > 0 || this.#unknown.size > 0,
    async () => {
      await this.#learnUnknown();
      await this.#fetch();
    },
    (error) => this.log.debug({ err: error }, 'events could not be read; trying again'),
    this.#stop.signal,
  );

  constructor(
    private readonly config: AppConfig,
    readonly repository: StreamLogRepository,
    private readonly moved: MovedStreams,
    private readonly listener: HintListener,
    private readonly log: AppLogger,
    private readonly lifecycle: Lifecycle,
    metrics: Metrics,
  ) {
    const vector = (): Map<number, number> => new Map([...this.streams.values()].map((s) => [s.id, s.position]));
    this.checkpoints = new Checkpoints(repository, log, vector, rateOfReplays(config.streamLimits.key));
    const sent = metrics.counter({ name: 'svc_stream_frames_sent_total', help: 'Data frames handed to stream sockets' });
    this.#groups = new FeedGroups(this, repository, this.checkpoints, sent);
    const open = (): number => this.openStreams;
    const lag = (): number => this.readerLag;
    metrics.gauge({
      name: 'svc_streams_open',
      help: 'Event streams open on this process',
      collect() {
        this.set(open());
      },
    });
    metrics.gauge({
      name: 'svc_stream_reader_lag_events',
      help: 'Events known to be committed and not yet given to the subscribers',
      collect() {
        this.set(lag());
      },
    });
  }

  onModuleInit(): void {
    const unlisten = this.moved.listen((moved) => this.#hint({ kind: 'moved', heads: new Map(moved.map((m) => [m.stream, m.head])) }));
    this.listener.listen({ hint: (hint) => this.#hint(hint), connected: () => this.#readAll() });
    void this.#poll();
    // A loop beside the poll, so that events go on being read while the database drops many cursors.
    repeat(this.lifecycle, this.log, {
      name: 'stored cursors',
      everyMs: PURGE_MS,
      phase: 'streams',
      work: (signal) => this.#purge(signal),
    });
    const endTicks = onTicks(() => this.#groups.tick(this.config.heartbeatMs));
    this.lifecycle.onStop('streams', 'event streams', async () => {
      unlisten();
      endTicks();
      this.#groups.shutdown();
      this.#stopped = true;
      this.#stop.abort();
      await this.#drain.settled();
    });
  }

  get openStreams(): number {
    return this.#groups.openStreams;
  }

  get readerLag(): number {
    let lag = 0;
    for (const s of this.#dirty) lag += Math.max(0, s.head - s.position);
    return lag;
  }

  stream(name: string): StreamState | undefined {
    return this.#byName.get(name);
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** Resolves once everything committed before the call is known. Calls that wait together share one read. */
  refresh(): Promise<void> {
    if (this.#nextRefresh === undefined) {
      const before = this.#refreshing ?? Promise.resolve();
      this.#nextRefresh = before
        .catch(() => undefined)
        .then(() => {
          this.#nextRefresh = undefined;
          this.#refreshing = workFor(undefined, () => this.#read()); // it is for all who wait
          return this.#refreshing;
        });
    }
    return this.#nextRefresh;
  }

  /**
   * A stream that is served, once everything that was committed in it before the call is known. Clients that reconnect to many cities at once share reads of
   * these cities only: `refresh` would read every city that has moved within a minute.
   */
  async look(name: string): Promise<StreamState | undefined> {
    const id = this.#byName.get(name)?.id;
    const log = this.#logs;
    const [row] = id === undefined ? [] : await this.repository.byId([id]);
    if (row !== undefined) this.#apply([row], log);
    if (row === undefined || this.#logs !== log) await this.refresh();
    else if (this.#dirty.size > 0) void this.#drain.run();
    return this.#byName.get(name);
  }

  /**
   * Applies streams that were read for a client that opens the feed. Streams that this process does not know yet become known to all: otherwise only this client would
   * be told of them, and the present subscribers never.
   */
  async learning(read: Promise<StreamRow[]>, log = this.#logs): Promise<StreamRow[]> {
    const rows = await read;
    this.#apply(rows, log);
    if (this.#dirty.size > 0) void this.#drain.run();
    return rows;
  }

  /** Resolves once everything known now, in one stream or in all, has been given to the channels. @throws 503 when that takes too long. */
  async caughtUp(only?: StreamState): Promise<void> {
    const wanted = [...(only === undefined ? this.#dirty : this.#dirty.has(only) ? [only] : [])].map((s) => ({ s, head: s.head }));
    const reached = (): boolean => !wanted.some(({ s, head }) => s.position < head && this.#dirty.has(s));
    if (await this.#drain.until(reached, () => undefined)) return;
    throw problem('unavailable', 'the event log cannot be read at the moment, try again');
  }

  cityGroup(stream: StreamState, types: readonly string[] | undefined): CityGroup {
    if (!this.#groups.isHot(stream)) this.#begin(stream, stream.head);
    return this.#groups.ofCity(stream, types);
  }

  async supervisorGroup(cities: readonly string[] | undefined, types: readonly string[] | undefined): Promise<SupervisorGroup> {
    if (!this.#groups.hasFeed) this.#warmUp();
    const group = this.#groups.ofFeed(cities, types);
    if (group.source.streams.length > COMPOSITE_LIMIT) await this.checkpoints.prepare();
    return group;
  }

  /**
   * Begins to read the feed. It starts at the heads that were last read, not at those that hints promise: a client
   * with the supervisor's position must be told of every city that joined before it.
   */
  #warmUp(): void {
    this.left.clear();
    for (const s of this.streams.values()) {
      if (s.groups.size === 0) this.#begin(s, s.known);
      if (s.head > s.position) this.#dirty.add(s);
    }
    // Ids that count from the old base would each name all streams that have moved since.
    this.checkpoints.restart();
  }

  /** Sets the position of a stream without subscribers, also in the ids of the feed. */
  #begin(s: StreamState, position: number): void {
    if (s.position === position) return;
    s.position = position;
    this.checkpoints.advance(s, position);
  }

  #hint(hint: Exclude<Hint, { kind: 'nonce' }>): void {
    if (hint.kind === 'all') return this.#readAll();
    for (const [name, head] of hint.heads) {
      if (isTopic(name)) continue;
      const s = this.#byName.get(name);
      if (s === undefined) this.#unknown.add(name);
      else if (head > s.head) {
        s.head = head;
        if (this.#groups.isHot(s)) this.#dirty.add(s);
      }
    }
    if (this.#dirty.size > 0 || this.#unknown.size > 0) void this.#drain.run();
  }

  #readAll(): void {
    this.#fullReadAt = -Infinity;
    void this.refresh().catch((error: unknown) => this.log.debug({ err: error }, 'heads could not be read'));
  }

  async #poll(): Promise<void> {
    let renewedAt = performance.now();
    while (!this.#stopped) {
      try {
        await this.refresh();
        if (performance.now() - renewedAt > RENEW_MS) {
          renewedAt = performance.now();
          await this.checkpoints.renew();
        }
      } catch (error) {
        this.log.debug({ err: error }, 'heads could not be read');
      }
      await sleep(this.listener.pollMs, this.#stop.signal);
    }
  }

  async #purge(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.repository.purgeCursors()) > 0);
    while (!signal.aborted && (await this.repository.purgeSteps()) > 0);
  }

  get #supervisor(): StreamState | undefined {
    return this.#byName.get(SUPERVISOR_STREAM);
  }

  async #read(): Promise<void> {
    const full = performance.now() - this.#fullReadAt > FULL_READ_MS;
    const startedAt = performance.now();
    const log = this.#logs;
    const rows = full ? await this.repository.active() : await this.repository.recent(this.#supervisor?.known ?? 0, this.#epochId);
    this.#apply(rows, log);
    // Another log was found, so these rows were not all its streams: read again, as callers must know every stream.
    if (this.#logs !== log) return this.#read();
    if (full) {
      const active = new Set(rows.map((r) => r.id));
      const gone = [...this.streams.values()].filter((s) => !active.has(s.id)).map((s) => s.name);
      if (gone.length > 0) await this.#applyRead(() => this.repository.byName(gone));
      // The same: another log was found meanwhile.
      if (this.#logs !== log) return this.#read();
      this.#fullReadAt = startedAt;
      this.#loaded = true;
    }
    if (this.#dirty.size > 0) void this.#drain.run();
  }

  async #applyRead(read: () => Promise<StreamRow[]>): Promise<void> {
    const log = this.#logs;
    this.#apply(await read(), log);
  }

  /** @param log what `#logs` was when the read of these rows began */
  #apply(rows: readonly StreamRow[], log: number): void {
    let readOf = log;
    for (const row of rows) {
      const epoch = row.ends.length + 1;
      // The database may not know the epoch of this process, or have begun another epoch of the same number.
      if (epoch !== this.#epoch || row.epoch_id !== (this.#epochId ?? row.epoch_id)) {
        if (epoch <= this.#epoch && readOf !== this.#logs) continue; // read before the present log was found
        this.#beginEpoch(epoch, row.epoch_id);
        readOf = this.#logs;
      }
      this.#epochId = row.epoch_id;
      this.#take(row);
    }
  }

  #take(row: StreamRow): void {
    let s = this.streams.get(row.id);
    if (s === undefined) {
      const position = this.#startOf(row);
      if (!row.active && position >= row.head) return this.checkpoints.correct(row, row.head);
      s = new StreamState(row, position);
      this.streams.set(s.id, s);
      this.#byName.set(s.name, s);
      this.checkpoints.advance(s, position);
      this.version++;
    } else {
      // Reads may arrive out of order. The head decides which row is newer, as a stream's last event before it leaves moves it.
      const stale = !row.active && row.head < s.head;
      if (!stale) s.update(row);
      if (!row.active && !stale) this.#leave(s);
    }
    if (s.head > s.position && this.#groups.isHot(s)) this.#dirty.add(s);
  }

  /** Forgets what is in memory: it may be of events that the log does not have any more. */
  #beginEpoch(epoch: number, id: string): void {
    // No warning at the start of a process, where the epoch may be old.
    if (this.streams.size > 0) this.log.warn({ epoch }, 'the log has begun a new epoch; its streams are opened anew');
    this.#epoch = epoch;
    void this.repository
      .sawEpoch({ epoch, id })
      .catch((error: unknown) => this.log.debug({ err: error }, 'the log could not be told of the epoch that was lost'));
    this.#forget();
  }

  /** Ends every stream: its client reconnects with its position, and is told whether that is lost. */
  #forget(): void {
    this.#logs++;
    this.#groups.forget();
    for (const known of [this.streams, this.#byName, this.left, this.#dirty]) known.clear();
    this.checkpoints.forget();
    this.#fullReadAt = -Infinity;
    this.version++;
  }

  /**
   * The position at which a stream begins that this process did not know: its head when nobody reads the feed; otherwise where the
   * feed left it, or where it joined, also when it has left again before it was noticed.
   */
  #startOf(row: StreamRow): number {
    if (!this.#groups.hasFeed || !this.#loaded) return row.head;
    const left = this.left.get(row.id)?.head;
    // A stream that joined before the published events of the supervisor was known before them. Heads may be known further than that.
    const since = this.#supervisor?.position ?? Infinity;
    const isNew = row.joined_supervisor_seq >= since;
    const joined = isNew ? joinedSince({ joinedSeq: row.joined_seq, earlier: row.earlier }, since) : row.active ? row.joined_seq : row.head;
    return placeOf(row.ends, Math.max(left ?? joined, row.floor));
  }

  /** Forgets a stream that has left the feed, once its last events were published. */
  #leave(s: StreamState): void {
    s.active = false;
    if (this.#groups.isHot(s) && s.position < s.head) return;
    this.#groups.leave(s);
    if (!this.#groups.hasFeed) this.checkpoints.advance(s, s.head);
    else this.left.remember(s.id, { name: s.name, head: s.position, ends: s.ends });
    this.streams.delete(s.id);
    this.#byName.delete(s.name);
    this.#dirty.delete(s);
    this.version++;
  }

  async #learnUnknown(): Promise<void> {
    if (this.#unknown.size === 0) return;
    const names = [...this.#unknown];
    const log = this.#logs;
    const rows = await this.repository.byName(names);
    for (const name of names) this.#unknown.delete(name);
    this.#apply(rows, log);
  }

  /**
   * An id with a position of the supervisor covers every city that joined before it: a client that resumes there begins cities
   * that the id does not name at their heads. So the cities that joined before these events have to be known before the events are published.
   */
  async #learnJoined(rows: readonly WireRow[]): Promise<void> {
    const supervisor = this.#supervisor;
    if (supervisor === undefined || !rows.some((row) => row.sid === supervisor.id)) return;
    await this.#applyRead(() => this.repository.joinedSince(supervisor.position));
  }

  async #hasBegunEpoch(): Promise<boolean> {
    const before = this.#logs;
    await this.#applyRead(() => this.repository.recent(this.#supervisor?.known ?? 0, this.#epochId));
    return this.#logs !== before;
  }

  async #fetch(): Promise<void> {
    const streams = [...this.#dirty].slice(0, FETCH_STREAMS);
    if (streams.length === 0) return;
    const promised = new Map(streams.map((s) => [s, s.head]));
    const most = Math.max(1, ...streams.map((s) => s.head - s.position));
    const limit = Math.min(most, Math.max(10, Math.ceil((FETCH_EVENTS * 2) / streams.length)));
    const ranges = streams.map((s) => ({ streamId: s.id, after: s.position, upto: Number.MAX_SAFE_INTEGER }));
    const { rows, more } = await this.repository.read(ranges, limit, FETCH_BYTES);
    await this.#learnJoined(rows);
    let started = performance.now();
    const got = new Set<number>();
    for (const row of rows) {
      const s = this.streams.get(row.sid);
      if (s === undefined || row.seq <= s.position) continue;
      if (row.seq !== s.position + 1) {
        if (await this.#hasBegunEpoch()) return;
        // Retention has dropped events that this process had not read yet: it was cut off for that long.
        this.log.error(
          { stream: s.name, position: s.position, seq: row.seq },
          'a reader met a gap in a stream; its streams are opened anew',
        );
        return this.#forget();
      }
      got.add(row.sid);
      this.#publish(s, row);
      if (performance.now() - started > SLICE_MS) {
        await databaseWaits.yieldTurn();
        started = performance.now();
      }
    }
    for (const [s, head] of promised) {
      // Nothing came, though a hint promised it: the poll will know. Not when the head moved during the read, or the limit left events out.
      if (!more && !got.has(s.id) && s.head === head) s.head = s.position;
      if (s.position >= s.head) this.#dirty.delete(s);
      // Unless it has come back as another object meanwhile.
      if (!s.active && this.streams.get(s.id) === s) this.#leave(s);
    }
  }

  #publish(s: StreamState, row: WireRow): void {
    s.position = row.seq;
    if (row.seq > s.head) s.head = row.seq;
    this.checkpoints.advance(s, row.seq);
    this.#groups.publish(s, row);
  }
}
