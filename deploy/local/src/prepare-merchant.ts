import { SETTINGS_MERCHANT_ID } from '@opentill/contracts/ops/fields';
import { openStartDatabase } from './open-start-database.ts';

/** The demo shop's sign: a pine on a pebble. */
export const DEMO_LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">
<rect width="64" height="64" rx="14" fill="#1f6b50"/>
<ellipse cx="32" cy="48" rx="22" ry="9" fill="#cfd8d3"/>
<path d="M12 46q8-7 20-7t18 5q-8-3-18-2t-20 4z" fill="#eef3f0"/>
<path d="M32 8 43 23h-6l9 11H34v9h-4v-9H18l9-11h-6z" fill="#f4efe4"/>
</svg>
`;

/** Sets the demo shop's profile on the checkout page. Keeps a profile that has a logo or a mail address. */
export async function prepareMerchant(adminUrl: string, shopUrl: string): Promise<void> {
  const database = openStartDatabase(adminUrl);
  try {
    await database.kysely
      .updateTable('merchant')
      .set({
        logo: Buffer.from(DEMO_LOGO),
        logo_type: 'image/svg+xml',
        accent_color: '#1f6b50',
        support_email: 'help@pebble-and-pine.example',
        shop_url: shopUrl,
      })
      .where('merchant_id', '=', SETTINGS_MERCHANT_ID)
      .where('logo', 'is', null)
      .where('support_email', 'is', null)
      .execute();
  } finally {
    await database.close();
  }
}
