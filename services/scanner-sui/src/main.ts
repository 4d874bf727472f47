import { runAlone } from '@opentill/runtime/run-alone';
import { composeScanner } from './compose.ts';

await runAlone('scanner-sui', composeScanner, process.env);
