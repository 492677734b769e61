import { Injectable } from '@nestjs/common';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Operations } from '../../../platform/operations/operations.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { Interactions } from '../../sessions/interactions/interactions.service.js';
import { MessageQueue } from '../../sessions/messages/message-queue.service.js';
import { SessionChangesService } from '../../sessions/session-store/session-changes.service.js';
import { TranscriptLogService } from '../../sessions/transcripts/transcript-log.service.js';
import { UsageRecorder } from '../../sessions/usage/usage-recorder.service.js';
import { AgentRuntimes, HostProcesses, LaunchPlans } from './ports.js';
import { RunnerTimings } from './runner-timings.js';
import { SessionWorkRepository } from './session-work.repository.js';
import { SessionExits } from './session-exits.js';

/** All that the running of one session needs, in one hand: there is one actor a session, and Nest makes none of them. */
@Injectable()
export class RunnerContext {
  constructor(
    readonly sessions: SessionChangesService,
    readonly log: TranscriptLogService,
    readonly messages: MessageQueue,
    readonly interactions: Interactions,
    readonly usage: UsageRecorder,
    readonly plans: LaunchPlans,
    readonly runtimes: AgentRuntimes,
    readonly processes: HostProcesses,
    readonly exits: SessionExits,
    readonly repository: SessionWorkRepository,
    readonly timings: RunnerTimings,
    readonly operations: Operations,
    readonly config: ConfigReadsService,
    readonly failpoints: Failpoints,
    readonly logger: AppLogger,
  ) {}
}
