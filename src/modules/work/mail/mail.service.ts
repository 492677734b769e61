import { Injectable } from '@nestjs/common';
import { MailArchived, MailDeleted, MailMarkedRead, MailMarkedUnread } from '../../../contract/events/mail.events.js';
import type { Principal } from '../../../contract/principal.js';
import { event } from '../../../platform/event-log/event.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { WorkService } from '../work/work.service.js';
import { MailAddresses } from './mail-addresses.service.js';
import { messageNotFound, rigNotFound } from './mail-problems.js';
import { MailRepository } from './mail.repository.js';

/** What becomes of messages after they were sent. Only a real change makes an event; what is archived is final. */
@Injectable()
export class MailService {
  constructor(
    private readonly work: WorkService,
    private readonly addresses: MailAddresses,
    private readonly repository: MailRepository,
  ) {}

  /** @throws ProblemError mail_not_found for a message that is not open; rig_not_found. */
  async mark(city: CityScope, id: string, read: boolean, rig: string | undefined, caller: Principal): Promise<{ status: string }> {
    await this.#requireRig(city, rig);
    await this.work.run(city, caller.actor, async (work) => {
      const message = await this.repository.find(work.tx, city, id);
      if (message === undefined || message.archived_as !== null) throw messageNotFound(id);
      if (message.read === read) return;
      await this.repository.setRead(work.tx, city, id, read);
      const payload = { rig: message.rig || city.name };
      work.emit(event(read ? MailMarkedRead : MailMarkedUnread, { stream: city.stream, actor: caller.actor, subject: id, payload }));
    });
    return { status: read ? 'read' : 'unread' };
  }

  /**
   * Takes a message out of its mailbox. One that is not there, or no longer, is already what the caller wants.
   *
   * @throws ProblemError rig_not_found
   */
  async archive(
    city: CityScope,
    id: string,
    as: 'archived' | 'deleted',
    rig: string | undefined,
    caller: Principal,
  ): Promise<{ status: string }> {
    await this.#requireRig(city, rig);
    await this.work.run(city, caller.actor, async (work) => {
      const message = await this.repository.find(work.tx, city, id);
      if (message === undefined || message.archived_as !== null) return;
      await this.repository.archive(work.tx, city, id, as);
      const payload = { rig: message.rig || city.name };
      work.emit(event(as === 'deleted' ? MailDeleted : MailArchived, { stream: city.stream, actor: caller.actor, subject: id, payload }));
    });
    return { status: as };
  }

  async #requireRig(city: CityScope, rig: string | undefined): Promise<void> {
    if ((await this.addresses.tag(city, rig)) === undefined) throw rigNotFound(rig!);
  }
}
