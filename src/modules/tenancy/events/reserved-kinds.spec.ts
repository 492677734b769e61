import { describe, expect, it } from '@jest/globals';
import { knownEvents } from '../../../contract/events/define.js';
import '../../../contract/events/all.js';
import { isReserved } from './reserved-kinds.js';

describe('reserved kinds', () => {
  // Guard: no other spelling passes for a kind of the product's own.
  it.each([
    ['case', 'Request.failed'],
    ['blanks', ' request.failed'],
    ['blanks of other kinds', 'request\u00a0\u2003.failed'],
    ['line feeds', 'city\n.created'],
    ['nothing to be seen', 're\u200bqu\u00ad\u2060est.failed'],
    ['direction', '\u202erequest.failed'],
    ['wide letters', 'ｒｅｑｕｅｓｔ．failed'],
    ['other dots', 'request\u2024failed'],
    ['marks', 'r\u00e9qu\u00ebst.failed'],
    ['mathematics', '\u{1d42b}equest.failed'],
    ['Cyrillic', 'r\u0435qu\u0435\u0455t.failed'],
    ['a Cyrillic a', 'session.inter\u0430ction.opened'],
    ['a Latin alpha', 'session.inter\u0251ction.opened'],
    ['a Greek alpha', 'session.inter\u03b1ction.opened'],
    ['a small capital', 'session.inter\u1d00ction.opened'],
    ['a sign for at', 'session.inter@ction.opened'],
    ['Greek', 'supervis\u03bfr.started'],
    ['figures', 'c0ntr0ller.stopped'],
    ['an I for an l', 'controIIer.stopped'],
    ['a family of its own', 'session.interaction.opened'],
  ])('are recognised in spite of %s', (_what, kind) => expect(isReserved(kind)).toBe(true));

  it('leave every other kind alone', () => {
    const others = [...knownEvents().keys()].filter(
      (kind) => !/^(request|supervisor|city|controller|events|session\.interaction)\./.test(kind),
    );
    for (const kind of [...others, 'requests.made', 'my.request.failed', 'velocity.changed', 'event.seen', 'Ereignis.müde', '依頼.失敗'])
      expect({ kind, reserved: isReserved(kind) }).toEqual({ kind, reserved: false });
  });
});
