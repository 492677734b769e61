import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { ProvidersModule } from '../../hosts/providers/providers.module.js';
import { RosterModule } from '../../configuration/roster/roster.module.js';
import { SessionStoreModule } from '../session-store/session-store.module.js';
import { AgentController } from './agent.controller.js';
import { AgentDirController } from './agent-dir.controller.js';
import { AgentReadsService } from './agent-reads.service.js';
import { AgentSwitchesService } from './agent-switches.service.js';
import { AgentsController } from './agents.controller.js';
import { AgentsRepository } from './agents.repository.js';
import { AgentsService } from './agents.service.js';

/** The agents of cities over HTTP. */
@Module({
  imports: [CitiesModule, ConfigCoreModule, SessionStoreModule, EventLogModule, ProvidersModule, RosterModule],
  controllers: [AgentsController, AgentController, AgentDirController],
  providers: [AgentReadsService, AgentSwitchesService, AgentsRepository, AgentsService],
})
export class AgentsModule {}
