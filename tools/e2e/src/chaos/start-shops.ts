import { randomBytes } from 'node:crypto';
import type { Database } from '@opentill/db/database';
import { upsertMerchant } from '@opentill/db/merchants';
import { parseSecretsKey } from '@opentill/db/sealed-secret';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startTcpProxy, type TcpProxy } from '@opentill/testkit/tcp-proxy';
import { startCallbackReceiver, type CallbackReceiver } from '../callback-receiver.ts';
import { createMerchantClient, type MerchantClient } from '../merchant-client.ts';

export interface Shop {
  readonly merchantId: string;
  readonly token: string;
  readonly webhookSecret: string;
  readonly receiver: CallbackReceiver;
  readonly cable: TcpProxy;
  readonly callbackUrl: string;
}

export interface OpenShop extends Shop {
  readonly client: MerchantClient;
}

/** Appends its clean-up steps to `undo`. */
export async function startShop(merchantId: string, undo: (() => Promise<void>)[]): Promise<Shop> {
  const [token, webhookSecret] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')];
  const receiver = await startCallbackReceiver(await findFreePort(), webhookSecret);
  undo.push(async () => receiver.close());
  const cable = await startTcpProxy(Number(new URL(receiver.url).port));
  undo.push(async () => cable.close());
  return { merchantId, token, webhookSecret, receiver, cable, callbackUrl: cable.through(receiver.url) };
}

export async function register(database: Database, secretsKey: string, shop: Shop): Promise<void> {
  const { merchantId, token, webhookSecret, callbackUrl } = shop;
  const settings = {
    merchantId,
    name: merchantId,
    version: 'V3',
    token,
    webhookSecret,
    callbackUrl,
  } as const;
  await upsertMerchant(database.kysely, parseSecretsKey(secretsKey), settings);
}

export function open(shop: Shop, apiUrl: string): OpenShop {
  return { ...shop, client: createMerchantClient(apiUrl, shop.token) };
}
