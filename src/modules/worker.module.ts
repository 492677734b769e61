import { Module } from '@nestjs/common';
import { OperationsWorkerModule } from '../platform/operations/operations.worker.module.js';
import { AuditWorkerModule } from './administration/audit/audit.worker.module.js';
import { BringUpWorkerModule } from './administration/bring-up/bring-up.worker.module.js';
import { CitiesWorkerModule } from './tenancy/cities/cities.worker.module.js';
import { ConfigWorkerModule } from './configuration/config/config.worker.module.js';
import { EventsWorkerModule } from './tenancy/events/events.worker.module.js';
import { ExtmsgWorkerModule } from './integrations/extmsg/extmsg.worker.module.js';
import { HooksWorkerModule } from './work/hooks/hooks.worker.module.js';
import { WorkWorkerModule } from './work/work/work.worker.module.js';
import { WaitsWorkerModule } from './work/waits/waits.worker.module.js';
import { MailWorkerModule } from './work/mail/mail.worker.module.js';
import { InteractionsCoreModule } from './sessions/interactions/interactions-core.module.js';
import { MessagesWorkerModule } from './sessions/messages/messages.worker.module.js';
import { ServicesWorkerModule } from './integrations/services/services.worker.module.js';
import { SessionsWorkerModule } from './sessions/sessions/sessions.worker.module.js';
import { OrdersWorkerModule } from './orchestration/orders/orders.worker.module.js';
import { MaintenanceWorkerModule } from './administration/maintenance/maintenance.worker.module.js';
import { ProvidersWorkerModule } from './hosts/providers/providers.worker.module.js';
import { PoolsWorkerModule } from './runners/pools/pools.worker.module.js';
import { RigsWorkerModule } from './sessions/rigs/rigs.worker.module.js';
import { RunsWorkerModule } from './orchestration/runs/runs.worker.module.js';
import { SlingWorkerModule } from './orchestration/sling/sling.worker.module.js';
import { RunnersWorkerModule } from './runners/runners/runners.worker.module.js';
import { UsageWorkerModule } from './sessions/usage/usage.worker.module.js';
import { SystemModule } from './administration/system/system.module.js';

/** What a worker process does: handlers of operations, reconcile loops, sweepers. Composition only. */
@Module({
  imports: [
    SystemModule,
    OperationsWorkerModule,
    CitiesWorkerModule,
    BringUpWorkerModule,
    EventsWorkerModule,
    AuditWorkerModule,
    ProvidersWorkerModule,
    WorkWorkerModule,
    HooksWorkerModule,
    WaitsWorkerModule,
    MailWorkerModule,
    ConfigWorkerModule,
    RigsWorkerModule,
    RunsWorkerModule,
    SlingWorkerModule,
    RunnersWorkerModule,
    PoolsWorkerModule,
    OrdersWorkerModule,
    MaintenanceWorkerModule,
    ServicesWorkerModule,
    MessagesWorkerModule,
    ExtmsgWorkerModule,
    SessionsWorkerModule,
    UsageWorkerModule,
    InteractionsCoreModule,
  ],
})
export class WorkerModule {}
