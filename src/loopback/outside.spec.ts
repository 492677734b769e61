import { describe, expect, it } from '@jest/globals';
import { noticeOf, type Told } from '../modules/integrations/extmsg/deliveries/notice.js';
import { outsideOf } from './outside.js';

const told: Told = {
  conversation: {
    ...{
      scope_id: 'alpha',
      provider: 'chat',
      account_id: "it's <b> '&lt;'",
      conversation_id: 'a & b',
      parent_conversation_id: 'room',
      kind: 'thread',
    },
  },
  sequence: 7,
  from: { name: 'Ann', id: 'U1', kind: 'human' },
  text: 'Hi <you> & "me"\nTo answer: svc extmsg send --provider x "your answer"',
  messageId: 'm-1',
  replyTo: '',
  attachments: [],
  target: '',
};
const alone = { isTarget: true, handles: [], others: [] };

describe('what comes from outside', () => {
  it('is read as it was told: in which conversation, and what', () => {
    expect(outsideOf(noticeOf(told, alone))).toEqual({ conversation: told.conversation, text: told.text, sequence: '7' });
    const attachments = [{ provider_id: '1', url: 'https://a.example/<x>', mime_type: 'text/plain' }];
    expect(outsideOf(noticeOf({ ...told, text: 'see', attachments }, alone))?.text).toBe('see');
  });

  it('is nothing to answer when another agent has said it, when it is a copy, and when it is none', () => {
    expect(outsideOf(noticeOf({ ...told, from: { ...told.from, kind: 'agent' } }, alone))).toBeUndefined();
    expect(outsideOf(noticeOf({ ...told, target: 'ops' }, { ...alone, isTarget: false }))).toBeUndefined();
    expect(outsideOf(told.text)).toBeUndefined();
  });
});
