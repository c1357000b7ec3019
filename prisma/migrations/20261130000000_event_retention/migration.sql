-- CreateIndex
-- Deleting an event looks for its deliveries.
CREATE INDEX "webhook_delivery_event_id_idx" ON "webhook_delivery"("event_id");
