import { afterEach, describe, expect, it } from '@jest/globals';
import { canNotify, notify } from './notify.js';

describe('a notice', () => {
  afterEach(() => {
    delete (globalThis as Record<string, unknown>).Notification;
  });

  it('that the browser refuses to make breaks nothing, and no more are promised', () => {
    expect(canNotify()).toBe(false);
    let made = 0;
    let refuses = false;
    class Notice {
      constructor() {
        if (refuses) throw new TypeError('Illegal constructor');
        made++;
      }
    }
    Object.assign(globalThis, { Notification: Notice });
    expect(notify('somebody asks', {})).toBeInstanceOf(Notice);
    expect([canNotify(), made]).toEqual([true, 1]);
    refuses = true;
    expect(notify('somebody asks', {})).toBeUndefined();
    expect(canNotify()).toBe(false);
  });
});
