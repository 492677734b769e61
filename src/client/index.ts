/**
 * The client of the supervisor's API, for Node 20 and newer and for browsers: typed calls, events without gaps, requests to wait for,
 * sessions to talk to. It knows the service only by its OpenAPI document.
 */
export { connect, Client, type ConnectOptions } from './client.js';
export type { Answer, Common, Data, Options, Paths, PathsWith, Schemas } from './calls.js';
export { ApiProblem, ConnectionError, PositionGone, ProtocolError, type Problem } from './problems.js';
export { EventStream, type EventOf, type EventsOptions, type SomeEvent } from './events.js';
export type { Accepted, Outcome, WaitOptions } from './waiting.js';
export { Conversation, Turn, TurnLost, type FollowSession, type SendOptions, type TurnAnswer, type TurnOptions } from './conversation.js';
export type { Question, Message, SessionFrame } from './turns.js';
export { allOf, itemsOf, pagesOf, type ListPage } from './pages.js';
