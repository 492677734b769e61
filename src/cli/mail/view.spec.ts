import { expect, it } from '@jest/globals';
import { mailText, type Message } from './view.js';

it('says of a message that nobody can answer it, and why', () => {
  const message: Message = {
    id: 'al-1',
    from: 'order:sweep',
    to: 'human',
    subject: 's',
    body: '',
    created_at: '2026-11-30T08:00:00Z',
    read: false,
    thread_id: 't',
  };
  expect(mailText({ ...message, answerable: false })).toMatch(/^answer: +not possible: order:sweep has no mailbox$/m);
  expect(mailText(message)).not.toContain('answer:');
});
