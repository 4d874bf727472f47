import { runAlone } from '@opentill/runtime/run-process';
import { composeWebhookSender } from './compose.ts';

await runAlone('webhook-sender', composeWebhookSender, process.env);
