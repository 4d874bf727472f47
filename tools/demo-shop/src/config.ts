export interface ShopEnvironment {
  readonly PORT: number;
  readonly HOST: string;
  readonly MACHINE_HOST?: string;
  readonly GATEWAY_URL: string;
  readonly MERCHANT_TOKEN: string;
  readonly WEBHOOK_SECRET: string;
  readonly NETWORKS_FILE: string;
  readonly HEALTH_PORT: number;
  readonly HEALTH_HOST: string;
}

export const SHOP_CONFIG_SCHEMA = {
  type: 'object',
  required: ['GATEWAY_URL', 'MERCHANT_TOKEN', 'WEBHOOK_SECRET', 'NETWORKS_FILE'],
  properties: {
    PORT: { type: 'integer', minimum: 1, maximum: 65535, default: 3011 },
    /** Any client can make the shop pay with devnet tokens, so the default is this machine only. */
    HOST: { type: 'string', minLength: 1, default: '127.0.0.1' },
    /** In a container: the machine outside it, which localhost in a forwarding URL then means. */
    MACHINE_HOST: { type: 'string', minLength: 1 },
    GATEWAY_URL: { type: 'string', pattern: '^https?://' },
    MERCHANT_TOKEN: { type: 'string', minLength: 1 },
    WEBHOOK_SECRET: { type: 'string', minLength: 1 },
    NETWORKS_FILE: { type: 'string', minLength: 1 },
    HEALTH_PORT: { type: 'integer', minimum: 0, maximum: 65535, default: 3029 },
    HEALTH_HOST: { type: 'string', default: '127.0.0.1' },
  },
} as const;
