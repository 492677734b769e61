import { Injectable, type OnModuleInit } from '@nestjs/common';
import { AppLogger } from '../../../platform/logging/logger.js';
import { ACTOR } from '../../tenancy/cities/actor.js';
import type { BeadRecord } from '../work/bead-record.js';
import type { Work } from '../work/work.js';
import { WorkService } from '../work/work.service.js';
import { MailSendingService } from './mail-sending.service.js';

const MAX_SUBJECT = 200;

/** Tells whom a convoy names in `convoy.notify` that it has closed, in the transaction that closes it. */
@Injectable()
export class ConvoyNotices implements OnModuleInit {
  constructor(
    private readonly work: WorkService,
    private readonly sending: MailSendingService,
    private readonly log: AppLogger,
  ) {}

  onModuleInit(): void {
    this.work.onClosed((work, closed) => this.#tell(work, closed));
  }

  async #tell(work: Work, convoy: BeadRecord): Promise<void> {
    const to = convoy.metadata['convoy.notify'];
    if (convoy.issue_type !== 'convoy' || !to) return;
    const reason = convoy.metadata.close_reason;
    const subject = `Convoy ${convoy.id} closed: ${convoy.title}`.slice(0, MAX_SUBJECT).toWellFormed();
    const body = reason === undefined ? `Convoy ${convoy.id} is closed.` : `Convoy ${convoy.id} is closed: ${reason}.`;
    // Who closes the last member is not who says this.
    if (!(await this.sending.notify(work, to, { rig: convoy.rig, subject, body }, ACTOR)))
      this.log.warn({ city: work.city.name, convoy: convoy.id }, 'a convoy has closed, but whom it should notify is not known');
  }
}
