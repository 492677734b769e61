import { Module } from '@nestjs/common';
import { IsolationModule } from '../../../platform/isolation/isolation.module.js';
import { OperationsModule } from '../../../platform/operations/operations.module.js';
import { Clock } from '../../../platform/time/clock.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { InteractionsCoreModule } from '../../sessions/interactions/interactions-core.module.js';
import { LaunchModule } from '../../sessions/launch/launch.module.js';
import { LaunchService } from '../../sessions/launch/launch.service.js';
import { MessagesCoreModule } from '../../sessions/messages/messages-core.module.js';
import { SessionsCoreModule } from '../../sessions/sessions/sessions-core.module.js';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { RunnerListCoreModule } from '../../hosts/runner-list/runner-list-core.module.js';
import { ProvidersWorkerModule } from '../../hosts/providers/providers.worker.module.js';
import { SessionTokensCoreModule } from '../../sessions/session-tokens/session-tokens-core.module.js';
import { TranscriptLogModule } from '../../sessions/transcripts/transcript-log.module.js';
import { UsageCoreModule } from '../../sessions/usage/usage-core.module.js';
import { ClaimsRepository } from './claims.repository.js';
import { FencingSweeper } from './fencing.sweeper.js';
import { MarkedProcesses } from './host-processes.js';
import { InboxRepository } from './inbox.repository.js';
import { OrphanReaper } from './orphan-reaper.js';
import { AgentRuntimes, HostProcesses, LaunchPlans } from './ports.js';
import { RunnerRegistry } from './runner-registry.js';
import { RunnerContext } from './runner-context.js';
import { RunnerTimings } from './runner-timings.js';
import { RunnerRepository } from './runner.repository.js';
import { RunnerStates } from './runner-states.js';
import { Runner } from './runner.service.js';
import { SessionClaims } from './session-claims.js';
import { SessionWorkRepository } from './session-work.repository.js';
import { SessionExits } from './session-exits.js';
import { ShippedRuntimes } from './shipped-runtimes.js';

/** What a worker does for sessions: it runs their processes, and takes over from workers that are gone. */
@Module({
  imports: [
    ConfigCoreModule,
    InteractionsCoreModule,
    IsolationModule,
    LaunchModule,
    MessagesCoreModule,
    EventLogModule,
    OperationsModule,
    ProvidersWorkerModule,
    RunnerListCoreModule,
    SessionsCoreModule,
    SessionTokensCoreModule,
    TranscriptLogModule,
    UsageCoreModule,
  ],
  providers: [
    ClaimsRepository,
    FencingSweeper,
    InboxRepository,
    OrphanReaper,
    Runner,
    RunnerRegistry,
    RunnerRepository,
    RunnerStates,
    RunnerContext,
    SessionClaims,
    SessionWorkRepository,
    SessionExits,
    { provide: AgentRuntimes, useClass: ShippedRuntimes },
    { provide: Clock, useValue: new Clock() },
    { provide: HostProcesses, useClass: MarkedProcesses },
    { provide: LaunchPlans, useExisting: LaunchService },
    { provide: RunnerTimings, useValue: new RunnerTimings() },
  ],
})
export class RunnersWorkerModule {}
