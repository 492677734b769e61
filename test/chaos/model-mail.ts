import type { MessageView } from './history-work.js';
import type { WorkWorld } from './model-work-world.js';
import type { World } from './model-world.js';

/** Those who write to each other in the model's cities. */
export class ModelMail {
  readonly #world: World;

  constructor(private readonly work: WorkWorld) {
    this.#world = work.world;
  }

  step(city: string): void {
    if (this.#world.random.chance(0.45)) this.#send(city);
    else this.#mark(city);
  }

  deliver(city: string, subject: string): MessageView {
    const rows = this.work.of(city);
    const message = { id: `m-${++rows.ids}`, subject, to: 'human', read: false };
    rows.mail.set(message.id, { message, archived: false });
    this.work.append(city, 'mail.sent', message.id, { rig: city, message });
    return message;
  }

  #send(city: string): void {
    const marker = this.work.marker();
    const message = this.deliver(city, marker);
    if (this.#world.is('mail sent twice under a key')) this.deliver(city, marker);
    this.work.tell(marker, { kind: 'mail.send', city, key: `k-${marker}` }, { body: message });
  }

  #mark(city: string): void {
    const world = this.#world;
    const open = [...this.work.of(city).mail.values()].filter((letter) => !letter.archived);
    if (open.length === 0) return;
    const letter = world.random.pick(open);
    const { id, read } = letter.message;
    const asked = { city, subject: id };
    const marker = this.work.marker();
    if (world.random.chance(0.3)) {
      letter.archived = true;
      if (!world.is('mail archived without an event')) this.work.append(city, 'mail.archived', id, {});
      return this.work.tell(marker, { kind: 'mail.archive', ...asked }, {});
    }
    letter.message = { ...letter.message, read: !read };
    const type = read ? 'mail.marked_unread' : 'mail.marked_read';
    if (!world.is('mail read without an event')) this.work.append(city, type, id, {});
    if (world.is('mail read twice')) this.work.append(city, type, id, {});
    this.work.tell(marker, { kind: read ? 'mail.unread' : 'mail.read', ...asked }, {});
  }
}
