import { Module } from '@nestjs/common';
import { OperationsModule } from '../platform/operations/operations.module.js';
import { AgentsModule } from './agents/agents.module.js';
import { AuditModule } from './audit/audit.module.js';
import { BeadsModule } from './beads/beads.module.js';
import { DependenciesModule } from './dependencies/dependencies.module.js';
import { HooksModule } from './hooks/hooks.module.js';
import { ConvoysModule } from './convoys/convoys.module.js';
import { MailModule } from './mail/mail.module.js';
import { SlingModule } from './sling/sling.module.js';
import { WaitsModule } from './waits/waits.module.js';
import { CitiesModule } from './cities/cities.module.js';
import { CityStatusModule } from './city-status/city-status.module.js';
import { ConfigHttpModule } from './config/config.module.js';
import { EventsModule } from './events/events.module.js';
import { ExtmsgModule } from './extmsg/extmsg.module.js';
import { FormulasModule } from './formulas/formulas.module.js';
import { InteractionsModule } from './interactions/interactions.module.js';
import { KeysModule } from './keys/keys.module.js';
import { MessagesModule } from './messages/messages.module.js';
import { ServicesModule } from './services/services.module.js';
import { SessionsModule } from './sessions/sessions.module.js';
import { OrdersModule } from './orders/orders.module.js';
import { MaintenanceModule } from './maintenance/maintenance.module.js';
import { PacksModule } from './packs/packs.module.js';
import { PatchesModule } from './patches/patches.module.js';
import { CityProvidersModule } from './city-providers/city-providers.module.js';
import { ProvidersModule } from './providers/providers.module.js';
import { RigsModule } from './rigs/rigs.module.js';
import { RunnerListModule } from './runner-list/runner-list.module.js';
import { InfoModule } from './system/info.module.js';
import { RunsModule } from './runs/runs.module.js';
import { SchemasModule } from './system/schemas.module.js';
import { SystemModule } from './system/system.module.js';
import { TranscriptsModule } from './transcripts/transcripts.module.js';
import { UsageModule } from './usage/usage.module.js';

/** What an api process serves. Composition only; everything these rooms share comes from the entry's root module. */
@Module({
  imports: [
    SystemModule,
    SchemasModule,
    InfoModule,
    KeysModule,
    ProvidersModule,
    CitiesModule,
    CityStatusModule,
    EventsModule,
    OperationsModule,
    BeadsModule,
    DependenciesModule,
    HooksModule,
    ConvoysModule,
    MailModule,
    SlingModule,
    WaitsModule,
    ConfigHttpModule,
    AgentsModule,
    CityProvidersModule,
    RigsModule,
    PatchesModule,
    PacksModule,
    FormulasModule,
    RunsModule,
    OrdersModule,
    ServicesModule,
    TranscriptsModule,
    MessagesModule,
    ExtmsgModule,
    SessionsModule,
    InteractionsModule,
    UsageModule,
    MaintenanceModule,
    AuditModule,
    RunnerListModule,
  ],
})
export class ApiModule {}
