import { createHmac } from 'node:crypto';
import type { MerchantSettings } from './gateway-options.ts';

export interface SummarySource {
  readonly apiUrl: string;
  readonly shopUrl: string;
  readonly merchant: MerchantSettings;
  readonly chains: readonly { readonly chain: string; readonly rpcUrl: string }[];
  readonly database: string;
  readonly broker: string;
  readonly logs: string;
  /** Order id of the example; never used before. */
  readonly orderId: string;
  readonly keep: boolean;
}

/** The screen that tells a newcomer what runs and what to do first. */
export function summaryScreen(source: SummarySource): string {
  const { apiUrl, shopUrl, merchant } = source;
  return [
    '',
    'Opentill is ready. Ctrl-C stops everything.',
    '',
    `  API        ${apiUrl}   (health: ${apiUrl}/readyz)`,
    `  Demo shop  ${shopUrl}   (callbacks: ${merchant.callbackUrl})`,
    `  Merchant   token ${merchant.token}, webhook secret ${merchant.webhookSecret}, ${merchant.version}`,
    ...source.chains.map(
      ({ chain, rpcUrl }) => `  Chain      ${chain.padEnd(12)} ${rpcUrl}   (a block every second)`,
    ),
    `  Postgres   ${source.database}`,
    `  RabbitMQ   ${source.broker}`,
    `  Logs       ${source.logs}`,
    '',
    'Create a first collection:',
    '',
    createCollectionCommand(source),
    '',
    'Pay it as a customer (or open the shop, or the paymentUrl of the answer):',
    '',
    `  curl -s ${shopUrl}/devnet/pay -H 'content-type: application/json' -d '{"orderId":"${source.orderId}"}'`,
    '',
    source.keep
      ? 'Data of the last run were kept.'
      : 'This start was fresh; "npm start -- --keep" goes on with its data.',
    '',
  ].join('\n');
}

/** A command that creates a collection. The signature covers `data` alone, so that the shell may fill in the rest. */
export function createCollectionCommand(
  source: Pick<SummarySource, 'apiUrl' | 'merchant' | 'orderId'>,
): string {
  const data = JSON.stringify({
    orderId: source.orderId,
    amount: '12.50',
    symbol: 'USDT',
    chain: 'ETH_SEPOLIA',
    uid: 'customer-1',
  });
  const sign = createHmac('sha256', source.merchant.token).update(data).digest('hex');
  const body = `{"sign":"${sign}","timestamp":'$(date +%s)',"nonce":"'$(date +%s%N)'","data":${data}}`;
  return `  curl -s ${source.apiUrl}/v1/order/createCollection -H 'content-type: application/json' -d '${body}'`;
}

/** A server's URL without its password. */
export function withoutPassword(url: string): string {
  const parsed = new URL(url);
  if (parsed.password !== '') parsed.password = '***';
  return parsed.toString();
}
