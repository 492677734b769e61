import { Injectable } from '@nestjs/common';
import { durationAt } from '../../configuration/config/duration-at.js';
import type { Follower } from '../../configuration/config/follower.js';
import { Following } from '../../configuration/config/following.js';
import { MailRetentionRepository } from './mail-retention.repository.js';

/** Follows what the files of cities say of their mail: `[mail] retention_ttl`. */
@Injectable()
export class MailSync {
  readonly #follower: Follower = {
    table: 'mail_cities',
    what: 'what a city says of its mail',
    follow: (tx, { streamId }, { config }) => this.repository.keepArchived(tx, streamId, durationAt(config, 'mail', 'retention_ttl')),
  };

  constructor(
    private readonly repository: MailRetentionRepository,
    private readonly following: Following,
  ) {}

  /** Answers how many cities were followed. */
  follow(signal?: AbortSignal): Promise<number> {
    return this.following.turn(this.#follower, signal);
  }
}
