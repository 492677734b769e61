import { Module } from '@nestjs/common';
import { OperationsModule } from '../platform/operations/operations.module.js';
import { AgentsModule } from './sessions/agents/agents.module.js';
import { AuditModule } from './administration/audit/audit.module.js';
import { BeadsModule } from './work/beads/beads.module.js';
import { DependenciesModule } from './work/dependencies/dependencies.module.js';
import { HooksModule } from './work/hooks/hooks.module.js';
import { ConvoysModule } from './work/convoys/convoys.module.js';
import { MailModule } from './work/mail/mail.module.js';
import { SlingModule } from './orchestration/sling/sling.module.js';
import { WaitsModule } from './work/waits/waits.module.js';
import { CitiesModule } from './tenancy/cities/cities.module.js';
import { CityStatusModule } from './administration/city-status/city-status.module.js';
import { ConfigHttpModule } from './configuration/config/config.module.js';
import { EventsModule } from './tenancy/events/events.module.js';
import { ExtmsgModule } from './integrations/extmsg/extmsg.module.js';
import { FormulasModule } from './orchestration/formulas/formulas.module.js';
import { InteractionsModule } from './sessions/interactions/interactions.module.js';
import { KeysModule } from './administration/keys/keys.module.js';
import { MessagesModule } from './sessions/messages/messages.module.js';
import { ServicesModule } from './integrations/services/services.module.js';
import { SearchModule } from './administration/search/search.module.js';
import { SessionsModule } from './sessions/sessions/sessions.module.js';
import { OrdersModule } from './orchestration/orders/orders.module.js';
import { MaintenanceModule } from './administration/maintenance/maintenance.module.js';
import { InboxModule } from './administration/inbox/inbox.module.js';
import { OverviewModule } from './administration/overview/overview.module.js';
import { PacksModule } from './configuration/packs/packs.module.js';
import { PatchesModule } from './configuration/patches/patches.module.js';
import { CityProvidersModule } from './configuration/city-providers/city-providers.module.js';
import { ProvidersModule } from './hosts/providers/providers.module.js';
import { RigsModule } from './sessions/rigs/rigs.module.js';
import { RunnerListModule } from './hosts/runner-list/runner-list.module.js';
import { InfoModule } from './administration/system/info.module.js';
import { RunsModule } from './orchestration/runs/runs.module.js';
import { SchemasModule } from './administration/system/schemas.module.js';
import { SystemModule } from './administration/system/system.module.js';
import { TranscriptsModule } from './sessions/transcripts/transcripts.module.js';
import { UsageModule } from './sessions/usage/usage.module.js';

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
    OverviewModule,
    InboxModule,
    SearchModule,
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
