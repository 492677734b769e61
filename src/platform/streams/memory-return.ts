import { Injectable, type OnModuleInit } from '@nestjs/common';
import { MemoryReturn, QUIET } from '../health/memory-return.js';
import { EventStreams } from './event-streams.js';

/** What fewer leave behind is not worth a collection. */
const MANY = 500;
/** Most of them have left when no more than this share is still open. */
const LEFT_OVER = 0.1;

/**
 * When it is time to give back what streams have left behind: many of them have left, few are open, and the process has had
 * nothing else to do for two looks in a row.
 */
export class ManyHaveLeft {
  #most = 0;
  #isQuiet = false;

  /** @param busy share of the time since the last look in which the event loop worked */
  look(open: number, busy: number): boolean {
    this.#most = Math.max(this.#most, open);
    const wasQuiet = this.#isQuiet;
    this.#isQuiet = this.#most - open >= MANY && open <= this.#most * LEFT_OVER && busy < QUIET;
    if (!this.#isQuiet || !wasQuiet) return false;
    this.#most = open;
    this.#isQuiet = false;
    return true;
  }
}

/** Has memory given back when streams have left: after 3,300 of them, each come back six times, a process went from 283 MB to 205. */
@Injectable()
export class MemoryOfStreams implements OnModuleInit {
  constructor(
    private readonly streams: EventStreams,
    private readonly memory: MemoryReturn,
  ) {}

  onModuleInit(): void {
    const left = new ManyHaveLeft();
    this.memory.also({ why: 'after many streams had left', look: ({ busy }) => left.look(this.streams.open, busy) });
  }
}
