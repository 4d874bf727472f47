import { runAlone } from '@opentill/runtime/run-process';
import { composeGateway } from './compose-gateway.ts';

await runAlone('gateway', composeGateway, process.env);
