import { runAlone } from '@opentill/runtime/run-alone';
import { composeGateway } from './compose-gateway.ts';

await runAlone('gateway', composeGateway, process.env);
