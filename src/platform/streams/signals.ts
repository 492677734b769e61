import { Injectable, type OnModuleInit } from '@nestjs/common';
import { afterCommit, type Tx } from '../database/transactions.js';
import { MovedStreams } from '../event-log/moved.js';
import { Lifecycle } from '../health/lifecycle.js';
import { HintListener } from './listener.js';
import { isTopic, TOPIC_MARK } from './hint.js';

/** What moved: names of topics or of event streams; `all` when it is not known, as after a lost connection. */
export type Signalled = ReadonlySet<string> | 'all';
type Listener = (names: Signalled) => void;

/**
 * Tells every process, this one first, that something of a name has changed. A signal is a hint: it may be lost or come
 * twice, says nothing about what changed, and whoever listens also looks by itself now and then. Names of topics must not
 * hold a comma or a colon.
 */
@Injectable()
export class Signals implements OnModuleInit {
  readonly #topics = new Set<Listener>();
  readonly #streams = new Set<Listener>();
  #count = 0;

  constructor(
    private readonly moved: MovedStreams,
    private readonly listener: HintListener,
    private readonly lifecycle: Lifecycle,
  ) {}

  onModuleInit(): void {
    const unlisten = this.moved.listen((moved) => this.#tell(new Set(moved.map(({ stream }) => stream))));
    this.listener.listen({
      hint: (hint) => this.#tell(hint.kind === 'all' ? 'all' : new Set(hint.heads.keys())),
      connected: () => this.#tell('all'),
    });
    this.lifecycle.onStop('listener', 'signals', unlisten);
  }

  /** Signals a topic once `tx` has committed. */
  mark(tx: Tx, topic: string): void {
    afterCommit(tx, () => this.markNow(topic));
  }

  /** Signals a topic whose change is committed already. */
  markNow(topic: string): void {
    this.moved.mark([{ stream: TOPIC_MARK + topic, head: ++this.#count }]);
  }

  /** Whether what others signal arrives now. Otherwise whoever listens looks by itself. */
  get reliable(): boolean {
    return this.listener.healthy;
  }

  /** Calls `listener` with the topics that were signalled, here or elsewhere. Returns how to stop that. */
  onTopics(listener: Listener): () => void {
    this.#topics.add(listener);
    return () => this.#topics.delete(listener);
  }

  /** Calls `listener` with the event streams that have moved, here or elsewhere. Returns how to stop that. */
  onStreams(listener: Listener): () => void {
    this.#streams.add(listener);
    return () => this.#streams.delete(listener);
  }

  #tell(names: Signalled): void {
    if (names === 'all') {
      for (const listener of [...this.#topics, ...this.#streams]) listener('all');
      return;
    }
    const topics = new Set<string>();
    const streams = new Set<string>();
    for (const name of names) {
      if (isTopic(name)) topics.add(name.slice(TOPIC_MARK.length));
      else streams.add(name);
    }
    if (topics.size > 0) for (const listener of this.#topics) listener(topics);
    if (streams.size > 0) for (const listener of this.#streams) listener(streams);
  }
}
